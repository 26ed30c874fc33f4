"""`python -m heaplab` is `heaplab`."""

from heaplab.cli import main

main()
