"""Calls that a thread of another process makes: records and what they point to, as src/ask reads them."""

import struct
from dataclasses import dataclass, field

WORD = 8
ARGUMENTS = 6
RECORD = WORD * (1 + ARGUMENTS + 2)  # struct call_record of src/ask/trampoline.h
MOST_CALLS = 64
DONE = 0  # where the end of the calls is noted
RECORDS = 64
VALUES = RECORDS + MOST_CALLS * RECORD
BUFFER = 8192  # where a text of any length begins: at a page, behind all else
BYTES = 16 << 20  # of the whole area; memory is taken for what is written
AREA_VISITOR = 384  # where, behind the begin of the code, src/ask's visitor of mimalloc's areas begins
AREA_SUMS = 2  # numbers that the visitor adds to: bytes used; bytes of pages that surely are resident


@dataclass
class Script:
    """Calls of functions, in an area of memory that begins at `base`, by code that begins at `code`."""

    base: int
    code: int = 0
    by_each: int = 0  # so many of the first calls are made by every thread, one after another
    _calls: list[list[int]] = field(default_factory=list)
    _values: bytearray = field(default_factory=bytearray)

    def value(self, content: bytes) -> int:
        """The address of bytes for an argument to point to; zeros are room for a result."""
        self._values += bytes(-len(self._values) % WORD)
        at = self.base + VALUES + len(self._values)
        self._values += content
        assert VALUES + len(self._values) <= BUFFER
        return at

    def number(self, content: int = 0) -> int:
        return self.value(struct.pack("<Q", content))

    def text(self, content: str) -> int:
        return self.value(content.encode() + b"\0")

    @property
    def buffer(self) -> int:
        return self.base + BUFFER

    def end_of_each(self) -> None:
        """Have every thread make the calls that were added so far; those that follow are made by one."""
        self.by_each = len(self._calls)

    @property
    def calls_left(self) -> int:
        return MOST_CALLS - len(self._calls)

    @property
    def area_visitor(self) -> int:
        return self.code + AREA_VISITOR

    def call(self, function: int, *arguments: int, result: int = 0, required: int = 0) -> None:
        """Add a call; without a result other than 0 at `required`, no later call is made."""
        assert len(arguments) <= ARGUMENTS
        assert len(self._calls) < MOST_CALLS
        padded = [*arguments, *[0] * (ARGUMENTS - len(arguments))]
        self._calls.append([function, *padded, result, required])

    def argument(self, later: int, place: int) -> int:
        """The address of an argument of the call that follows the last one by `later` more."""
        return self.base + RECORDS + (len(self._calls) + later) * RECORD + WORD * (1 + place)

    @property
    def next_function(self) -> int:
        """The address of the function of the call that follows the one that is being added."""
        return self.argument(1, -1)

    @property
    def records(self) -> tuple[int, int]:
        begin = self.base + RECORDS
        return begin, begin + len(self._calls) * RECORD

    @property
    def functions(self) -> set[int]:
        return {call[0] for call in self._calls if call[0]}

    @property
    def content(self) -> bytes:
        records = b"".join(struct.pack(f"<{RECORD // WORD}Q", *call) for call in self._calls)
        """What the area holds before the calls, up to the buffer."""
        before = (bytes(RECORDS) + records).ljust(VALUES, b"\0") + self._values
        return before.ljust(BUFFER, b"\0")


def number_at(area: bytes, base: int, address: int) -> int:
    """A number that calls have left in the area."""
    number: int = struct.unpack_from("<Q", area, address - base)[0]
    return number


def bool_at(area: bytes, base: int, address: int) -> bool:
    """The result of a call that returned a bool, of which one byte counts."""
    return bool(area[address - base])


def text_in(area: bytes) -> bytes:
    """The text that calls have left in the buffer."""
    return area[BUFFER:].partition(b"\0")[0]
