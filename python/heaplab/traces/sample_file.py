"""Files of samples: snapshots of what `heaplab record --sample` estimates of a program's memory.

A file is lines of JSON, packed by gzip: a head, then a line for each snapshot. Each line is packed by itself,
so that a file that is cut off gives what came before.
"""

import gzip
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from heaplab.errors import HeaplabError, UsageError, fault_of
from heaplab.files import regular_file
from heaplab.files.output import replacing

GZIP = b"\x1f\x8b"
BEGINS = b'{"heaplab_sample":'
MOST_BYTES = MOST_LINE = 1 << 28  # of a file, packed; of a snapshot, unpacked
MOST_SNAPSHOTS = 64  # in a file: when there are more, some that were taken by time are left out
THINNED_SNAPSHOTS = 48
BY_TIME = "every"
NUMBERED = re.compile(r"(.+):(\d{1,4})")

Count = Annotated[int, Field(ge=0, lt=1 << 64)]
Quantity = Annotated[float, Field(ge=0, le=1e40, allow_inf_nan=False)]
Text = Annotated[str, Field(max_length=1 << 16)]
HEX = "[0-9a-f]{1,15}"
Modules = Annotated[str, Field(pattern=rf"^({HEX}-{HEX} {HEX} [^\n]+\n)*$")]
BuildIds = Annotated[str, Field(pattern=rf"^({HEX} [0-9a-f]+\n)*$")]
Histogram = Annotated[tuple[Count, ...], Field(max_length=16)]


class SampleRecord(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


R = TypeVar("R", bound=SampleRecord)


class SampleSum(NamedTuple):
    """What samples stand for: estimates of all blocks, with the variances of the estimates."""

    samples: Count = 0
    bytes: Quantity = 0.0
    blocks: Quantity = 0.0
    bytes_variance: Quantity = 0.0
    blocks_variance: Quantity = 0.0

    def plus(self, other: "SampleSum") -> "SampleSum":
        return SampleSum(
            self.samples + other.samples,
            self.bytes + other.bytes,
            self.blocks + other.blocks,
            self.bytes_variance + other.bytes_variance,
            self.blocks_variance + other.blocks_variance,
        )


class PinnedSum(NamedTuple):
    """Of watched pages that hold live blocks: how many there are, and the sums of their unused bytes."""

    pages: Count = 0
    bytes: Quantity = 0.0
    squares: Quantity = 0.0

    def plus(self, other: "PinnedSum") -> "PinnedSum":
        return PinnedSum(self.pages + other.pages, self.bytes + other.bytes, self.squares + other.squares)


class SampledSite(NamedTuple):
    """A call site. Classes of lifetimes and ages are below 4 ms, 16 ms, 64 ms ..., counted in samples."""

    stack: Annotated[tuple[Count, ...], Field(max_length=33)]  # code addresses, the innermost first
    acquired: SampleSum  # since the recording began
    live: SampleSum
    lives: Histogram = ()
    ages: Histogram = ()
    pinned: PinnedSum = PinnedSum()

    def plus(self, other: "SampledSite") -> "SampledSite":
        """The same stack, met twice."""
        lives, ages = (
            tuple(map(sum, zip(mine, theirs, strict=True)))
            for mine, theirs in ((self.lives, other.lives), (self.ages, other.ages))
        )
        return SampledSite(
            stack=self.stack,
            acquired=self.acquired.plus(other.acquired),
            live=self.live.plus(other.live),
            lives=lives,
            ages=ages,
            pinned=self.pinned.plus(other.pinned),
        )


class ProcessSamples(SampleRecord):
    pid: Count
    parent_pid: Count
    program: Text
    executable: Text
    arguments: Text  # each followed by a zero byte
    allocator: Text
    begin_ns: Count  # CLOCK_MONOTONIC
    ended: bool
    resident: Count = 0  # anonymous and shared memory in B; 0: it has ended
    lost: Count = 0  # blocks that were to be sampled, and are missing
    modules: Modules = ""  # lines as in docs/trace-format.md
    build_ids: BuildIds = ""
    sites: list[SampledSite]
    pinned: PinnedSum | None = None  # None: not known

    @property
    def acquired(self) -> SampleSum:
        return summed(site.acquired for site in self.sites)

    @property
    def live(self) -> SampleSum:
        return summed(site.live for site in self.sites)


class Snapshot(SampleRecord):
    at_unix_ns: Count
    seconds: Quantity  # since the recording began
    why: Text
    processes: list[ProcessSamples]
    left_out: Count = 0  # ended processes


class Head(SampleRecord):
    heaplab_sample: Literal[1]
    sample_bytes: Annotated[int, Field(ge=1, le=1 << 40)]
    page_period: Annotated[int, Field(ge=0, le=1 << 40)] = 0  # of which one page was watched; 0: none was
    page_bytes: Annotated[int, Field(ge=1, le=1 << 30)] = 4096
    machine: Text


def summed(amounts: Iterator[SampleSum]) -> SampleSum:
    total = SampleSum()
    for amount in amounts:
        total = total.plus(amount)
    return total


class SampleFile:
    """The snapshots of a file, one after the other. `damage` is told when all were read."""

    def __init__(self, path: Path) -> None:
        """Raises UsageError if the file is no file of samples."""
        self.path = path
        self.damage = ""
        self._lines = self._read()
        line = next(self._lines, b"")
        if not line.startswith(BEGINS):
            raise UsageError(f"{path}: is not a file of samples")
        self.head = self._record(Head, line, "head")

    def snapshots(self) -> Iterator[Snapshot]:
        """To be called once. Raises UsageError at a line that is no snapshot."""
        for number, line in enumerate(self._lines, 1):
            yield self._record(Snapshot, line, f"snapshot {number}")

    def _record(self, kind: type[R], line: bytes, name: str) -> R:
        try:
            return kind.model_validate_json(line)
        except ValidationError as error:
            raise UsageError(f"{self.path}: {name}: {fault_of(error, 'line')}") from None

    def _read(self) -> Iterator[bytes]:
        with regular_file.opened(self.path, MOST_BYTES) as packed, gzip.GzipFile(fileobj=packed) as stream:
            try:
                while line := stream.readline(MOST_LINE + 1):
                    if len(line) > MOST_LINE:
                        raise UsageError(f"{self.path}: a snapshot is larger than {MOST_LINE >> 20} MiB")
                    if not line.endswith(b"\n"):
                        raise EOFError
                    yield line
            except (EOFError, zlib.error, gzip.BadGzipFile):
                self.damage = "is cut off; what is intact was used"


def is_sample(path: Path) -> bool:
    """Whether a file begins like one of samples."""
    try:
        with regular_file.opened(path) as packed, gzip.GzipFile(fileobj=packed) as stream:
            return stream.read(len(BEGINS)) == BEGINS
    except (UsageError, EOFError, OSError, zlib.error):
        return False


def file_and_number(path: Path) -> tuple[Path, int | None]:
    """FILE:3 names the third snapshot of a file, unless there is a file of that name."""
    match = NUMBERED.fullmatch(str(path))
    return (Path(match[1]), int(match[2])) if match and not path.exists() else (path, None)


class Line(NamedTuple):
    """A snapshot in its file."""

    packed: bytes
    seconds: float
    by_time: bool


class SampleWriter:
    """Appends snapshots to a new file."""

    def __init__(self, path: Path, head: Head) -> None:
        self._path = path
        self._kept: list[Line] = []
        self._head = packed(head)

    def add(self, snapshot: Snapshot) -> None:
        """Raises HeaplabError if the file cannot be written."""
        self._kept.append(Line(packed(snapshot), snapshot.seconds, snapshot.why == BY_TIME))
        if len(self._kept) > MOST_SNAPSHOTS:
            self._kept = thinned(self._kept)
        elif len(self._kept) > 1:
            return append(self._path, self._kept[-1].packed)
        with replacing(self._path) as beside:
            beside.write_bytes(self._head + b"".join(line.packed for line in self._kept))
        return None


def append(path: Path, line: bytes) -> None:
    """Raises HeaplabError if the file cannot be written."""
    try:
        with path.open("ab") as stream:
            stream.write(line)
    except OSError as error:
        raise HeaplabError(f"{path}: {error.strerror}") from error


def packed(record: SampleRecord) -> bytes:
    return gzip.compress(record.model_dump_json().encode() + b"\n", mtime=0)


def thinned(kept: list[Line]) -> list[Line]:
    """Without some that were taken by time, or else of all: always what leaves the smallest gap in time."""
    remaining = list(kept)
    while len(remaining) > THINNED_SNAPSHOTS:
        inner = range(1, len(remaining) - 1)
        of = [number for number in inner if remaining[number].by_time] or inner
        del remaining[
            min(of, key=lambda number: remaining[number + 1].seconds - remaining[number - 1].seconds)
        ]
    return remaining
