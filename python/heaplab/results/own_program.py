"""The names of heaplab's own programs."""

from typing import NamedTuple


class OwnProgram(NamedTuple):
    """One of heaplab's own programs. No word of a user's has this type, so that none is looked up as one."""

    name: str


MUTATOR = OwnProgram("acdc")  # the program that is there in managed languages too, src/managed
REPLAY = OwnProgram("replay")  # repeats the calls of a trace
