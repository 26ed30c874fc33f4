"""`python -m heaplab` is `heaplab`."""

from heaplab.commands import main

main()
