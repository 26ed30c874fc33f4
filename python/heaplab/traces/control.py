"""The memory that heaplab and the recorded processes share: `raw_control` of src/trace/raw/raw_file.h."""

import mmap
import os
import struct
from pathlib import Path

from heaplab.machine.coverage.executed_programs import ExecutedProgram

MAGIC = 0x326C6F72746E6F63
# magic, stamps, state, most bytes, bytes, begins late, stacks, instructions, filters of system calls, bytes
# between two samples, the process without which the recording ends, pages for each one that is watched
PAGE = struct.Struct("<QIIQQQQQQQQQ")
STATE = struct.Struct("<I")
STATE_AT = 12
STAMPS = {"tsc": 1, "tickets": 2}
OFF, ON, WAITING, LOOKING, SAMPLING = 0, 1, 2, 4, 5
TEXTS_AT, BYTES = 152, 256 << 10  # where texts about executed programs begin, and end: executed_programs.h


def filters_here() -> int:
    """The number of filters of system calls (seccomp) that this process runs under."""
    lines = Path("/proc/self/status").read_text(errors="replace").splitlines()
    fields = dict(line.split(":", 1) for line in lines if line.startswith("Seccomp"))
    # Linux before 5.9 tells only whether there are any.
    return int(fields.get("Seccomp_filters") or 0) or int(int(fields.get("Seccomp") or 0) > 0)


class Control:
    """Switches the recording of all processes on and off. A context manager: unmapped at its end."""

    def __init__(
        self,
        folder: Path,
        stamps: str,
        most_bytes: int,
        *,
        on: bool,
        stacks: bool = False,
        instructions: bool = False,
        sample_bytes: int = 0,
        page_period: int = 0,
        attached: bool = False,
    ) -> None:
        """Without `on`, the recording begins later, and the recorder only keeps account of live blocks.

        `attached`: to a process that runs already; its recording ends at the latest when this process does.
        """
        path = folder / "control"
        self._on = SAMPLING if sample_bytes else ON
        state = OFF if attached else self._on if on else WAITING
        keeper = os.getpid() if attached else 0
        options = (not on or attached, stacks, instructions, filters_here())
        sampled = (sample_bytes, keeper, page_period)
        page = PAGE.pack(MAGIC, STAMPS[stamps], state, most_bytes, 0, *options, *sampled)
        path.write_bytes(page.ljust(BYTES, b"\0"))
        with path.open("r+b") as stream:
            self._page = mmap.mmap(stream.fileno(), BYTES)

    def begin(self) -> None:
        self.switch(self._on)

    def switch(self, state: int) -> None:
        STATE.pack_into(self._page, STATE_AT, state)

    def executed_programs(self) -> list[ExecutedProgram]:
        """The programs that were executed while recording, or looking, was on."""
        texts = filter(None, self._page[TEXTS_AT:].split(b"\0"))
        return [ExecutedProgram(os.fsdecode(text[1:]), text.startswith(b"+")) for text in texts]

    def __enter__(self) -> "Control":
        return self

    def __exit__(self, *_: object) -> None:
        self._page.close()


def sampling_of(folder: Path) -> tuple[int, int]:
    """The distance of samples in a recording's folder, 0 if it records all calls; and the period of pages."""
    page = (folder / "control").read_bytes()[: PAGE.size]
    sample_bytes, _, page_period = PAGE.unpack(page)[-3:] if len(page) == PAGE.size else (0, 0, 0)
    return sample_bytes, page_period
