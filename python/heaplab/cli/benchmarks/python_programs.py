"""Programs that the CPython interpreter runs: CPython serves small requests itself, without malloc."""

import os
import re

from heaplab.errors import UsageError
from heaplab.machine import interposition

PYTHON = re.compile(r"python(3(\.\d+)?)?")
NOTE = (
    "CPython serves objects up to 512 bytes itself, so malloc sees only larger ones. "
    "With PYTHONMALLOC=malloc in the environment all of them go to malloc."
)


def note_on(program: str) -> str:
    """The note on a Python program; "" for other programs, and where PYTHONMALLOC is set."""
    if os.environ.get("PYTHONMALLOC"):
        return ""
    try:
        chain = interposition.chain_of(interposition.resolve_program(program, os.environ))
    except UsageError:
        return ""  # the error appears where the program is started
    return NOTE if any(PYTHON.fullmatch(file.name) for file in chain) else ""
