"""The results file of a campaign: JSON lines, appended one by one and never changed.

Each record is one write(2), so that an interruption can truncate at most the last line. Reading drops a
truncated line, and appending removes it first. A line that does not fit on the disk is removed completely.
"""

import fcntl
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from pydantic import ValidationError
from pydantic_core import from_json

from heaplab.errors import HeaplabError, UsageError, fault_of
from heaplab.files import regular_file
from heaplab.results import spec
from heaplab.results.records import ANY_RECORD, SCHEMA, AnyRecord, Arm, Campaign, End, Host, Run, Timing

FILE_NAME = "results.jsonl"
LARGEST = 4 << 30  # B: a larger file is none of results; a million runs take half of it


@dataclass(frozen=True)
class Results:
    """One results file as read."""

    path: Path
    campaign: Campaign
    host: Host | None
    libraries: dict[str, Arm]  # by the allocator's name in the campaign
    runs: list[Run]
    end: End | None  # None: the last run was not followed by an End record
    runs_of_earlier_budgets: int  # number of runs before the last End, which an earlier budget paid for
    unreadable: list[str]  # for each line that was left out: its number and what is wrong
    timings: dict[str, Timing] = field(default_factory=dict)  # by experiment
    repeated: int = 0  # number of runs left out because another process measured the same before
    host_at_end: Host | None = None  # with the facts at the end of a shard; None: not read again

    @property
    def facts(self) -> Mapping[str, Any]:
        """The facts of the machine; {} if none were recorded."""
        return self.host.facts if self.host else {}


def results_file(path: Path) -> Path:
    """The path of a results file, given that path or the folder that contains the file."""
    return path / FILE_NAME if path.is_dir() else path


def load(path: Path, *, series: bool = True) -> Results:
    """Read a results file, given its path or folder. Raises UsageError if it does not hold one campaign.

    Without `series`, the quantities over time are left out, which make up most of a file.
    """
    path = results_file(path)
    content = regular_file.content_of(path, LARGEST)
    records = list(parse(content, record_of if series else record_without_series))
    known = [record for record in records if not isinstance(record, str)]
    if not known or not isinstance(known[0], Campaign):
        raise UsageError(f"{path}: {why_no_results(content)}")
    if fault := fault_of_campaign(known[0]):
        raise UsageError(f"{path}: its campaign cannot be read: {fault}")
    if len({record.id for record in known if isinstance(record, Campaign)}) > 1:
        raise UsageError(f"{path}: holds two campaigns, which cannot be read as one; give each its own file")
    ends = [(place, record) for place, record in enumerate(known) if isinstance(record, End)]
    before, end = ends[-1] if ends else (0, None)
    runs = without_repeated(known)
    runs_of_earlier_budgets = len(without_repeated(known[:before]))
    hosts = [record for record in known if isinstance(record, Host)]
    return Results(
        path=path,
        campaign=known[0],
        host=hosts[0] if hosts else None,
        repeated=sum(isinstance(record, Run) for record in known) - len(runs),
        host_at_end=hosts[-1] if hosts[1:] else None,
        libraries={record.allocator: record for record in known if isinstance(record, Arm)},
        runs=runs,
        end=end if runs_of_earlier_budgets == len(runs) else None,
        runs_of_earlier_budgets=runs_of_earlier_budgets,
        unreadable=[record for record in records if isinstance(record, str)],
        timings={record.experiment: record for record in known if isinstance(record, Timing)},
    )


def without_repeated(records: Iterable[AnyRecord]) -> list[Run]:
    """The runs, each planned run once: two processes that write one file measure some of them twice."""
    runs: list[Run] = []
    settled: set[tuple[str, int, str, bool]] = set()
    for run in records:
        if not isinstance(run, Run):
            continue
        in_slices = run.turns is not None  # such a block may be measured again without slices
        place = (run.key, run.block, run.allocator, in_slices)
        if place not in settled:
            runs.append(run)
        if run.settles:
            settled.add(place)
    return runs


def schema_of(content: bytes) -> int:
    """The schema that the first line of a file names; 0 if the line begins no campaign."""
    first = next((line for line in content.splitlines() if line.strip()), b"")
    try:
        begin = json.loads(first)
        return int(begin["schema"]) if begin["kind"] == "campaign" else 0
    except (ValueError, KeyError, TypeError, RecursionError):
        return 0


def why_no_results(content: bytes) -> str:
    """What is wrong with the beginning of a file, in one line."""
    schema = schema_of(content)
    if schema not in (0, SCHEMA):
        return f"written by another version of heaplab (schema {schema}, this one reads {SCHEMA})"
    try:
        if schema == SCHEMA:
            Campaign.model_validate_json(next(line for line in content.splitlines() if line.strip()))
    except ValidationError as error:
        return f"its campaign cannot be read: {fault_of(error, 'the line')}"
    return "not a results file of heaplab"


def fault_of_campaign(campaign: Campaign) -> str:
    """What is wrong with the experiments and workloads of a campaign, in one line; "" if nothing is."""
    try:
        for number, content in enumerate(campaign.experiments):
            place = f"experiments.{number}"
            if (name := spec.Experiment.model_validate(content).workload) not in campaign.workloads:
                return f"no workload {name!r}"
        for name, content in campaign.workloads.items():
            place = f"workloads.{name}"
            spec.Workload.model_validate(content)
    except ValidationError as error:
        return f"{place}.{fault_of(error, 'all of it')}"
    return ""


def record_of(line: bytes) -> AnyRecord:
    return ANY_RECORD.validate_json(line)


def record_without_series(line: bytes) -> AnyRecord:
    """The record with one point of memory over time, that with the largest page tables, and no series."""
    content = from_json(line)
    if isinstance(content, dict) and content.get("kind") == "run":
        if isinstance(process := content.get("process"), dict) and process.get("memory"):
            process["memory"] = [max(process["memory"], key=lambda point: point[2])]
        if isinstance(sample := content.get("sample"), dict):
            sample["series"] = {}
    return ANY_RECORD.validate_python(content)


def parse(content: bytes, read: Callable[[bytes], AnyRecord] = record_of) -> Iterator[AnyRecord | str]:
    """Yield the record of every line; for a line that is no record, its number and what is wrong."""
    for number, line in enumerate(content.splitlines(), 1):
        if line.strip():
            try:
                yield read(line)
            except ValidationError as error:
                yield f"line {number}: {fault_of(error, 'no record')}"
            except (ValueError, TypeError, LookupError):
                yield f"line {number}: no record"


def left_out(path: Path, unreadable: list[str]) -> str:
    """One line about the lines of a file that were left out: how many, and what is wrong with the first."""
    noun = "line" if len(unreadable) == 1 else "lines"
    return f"{path}: {len(unreadable)} unreadable {noun} left out; {unreadable[0]}"


def remarks(results: Results) -> Iterator[str]:
    """A line about what was left out of a file, for each reason."""
    if results.unreadable:
        yield left_out(results.path, results.unreadable)
    if results.repeated:
        noun = "run" if results.repeated == 1 else "runs"
        yield f"{results.path}: {results.repeated} {noun} left out, measured a second time; the first counts"


class ResultsLock:
    """The right to write a results file. The kernel takes it back where a process dies.

    A file of the usual name has its folder for itself, which is what is locked. Nodes write the results of
    shards into one folder: each file has a lock beside it.
    """

    def __init__(self, path: Path) -> None:
        """Make the folder and lock it, or the file. Raises UsageError if another process has the lock."""
        alone = path.name == FILE_NAME
        locked = path.parent if alone else path.with_suffix(".lock")
        flags = os.O_RDONLY | os.O_DIRECTORY if alone else os.O_WRONLY | os.O_CREAT
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(locked, flags | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise UsageError(f"{path.parent}: cannot be written: {error.strerror}") from error
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._descriptor)
            what = f"{path.parent}: another heaplab is measuring into this folder"
            raise UsageError(
                what if alone else f"{path}: another heaplab is measuring this shard here"
            ) from None
        except OSError:  # a file system without locks
            pass

    def release(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1


class Store:
    """Appends records to one file, which is locked. Use as a context manager."""

    def __init__(self, path: Path, lock: ResultsLock | None = None) -> None:
        self.path = path
        self._lock = lock or ResultsLock(path)
        try:
            self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            self._lock.release()
            raise UsageError(f"{path}: cannot be written: {error.strerror}") from error
        self._remove_cut_off_line()

    def append(self, record: AnyRecord) -> None:
        """Write one line. Raises HeaplabError if the disk is full; earlier lines stay as they were."""
        line = record.model_dump_json(by_alias=True, exclude_defaults=False).encode() + b"\n"
        length = os.fstat(self._file).st_size
        try:
            written = os.write(self._file, line)
            if written < len(line):
                os.write(self._file, line[written:])
        except OSError as error:
            if os.fstat(self._file).st_size > length:
                os.ftruncate(self._file, length)
            raise HeaplabError(
                f"{self.path}: {error.strerror}; everything measured before is kept, resume with more room"
            ) from error

    def sync(self) -> None:
        """Return when all lines are on the disk."""
        os.fdatasync(self._file)

    def close(self) -> None:
        os.close(self._file)
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _remove_cut_off_line(self) -> None:
        content = self.path.read_bytes() if self.path.is_file() else b""
        if content and not content.endswith(b"\n"):
            os.ftruncate(self._file, content.rfind(b"\n") + 1)
