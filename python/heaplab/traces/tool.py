"""The C++ program that does the heavy work on traces (src/trace/trace_tool.cpp)."""

import contextlib
import json
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, Any

from heaplab.errors import DamagedTraceError, HeaplabError, UsageError
from heaplab.files import regular_file
from heaplab.machine import native

Progress = Callable[[int, int], None]
ANY_NAME = "surrogateescape"  # how names that are not UTF-8 are decoded in the tool's output


def program() -> Path:
    return native.needed(native.helper("trace_tool"), "trace_tool")


def stamps_here() -> str:
    """The source of the stamps that order events on this machine: `tsc` or `tickets`."""
    return _run("stamps").strip()


def why_no_instructions() -> str:
    """Why the instructions of a thread cannot be counted here; "" if they can."""
    reason = _run("counters").strip()
    return "" if reason == "instructions" else reason


def profile(trace: Path, process: int, progress: Progress = lambda _done, _whole: None) -> dict[str, Any]:
    """What a process of a trace did with memory; `progress` gets the events done and their total."""
    last = ""
    with _running("profile", trace, str(process)) as lines:
        for line in lines:
            last = line
            if not line.startswith("{"):
                done, whole = map(int, line.split())
                progress(done, whole)
    report: dict[str, Any] = json.loads(last)
    return report


def sites(trace: Path, process: int) -> dict[str, Any]:
    """The call sites of a process of a trace, and what the trace says about their code addresses."""
    report: dict[str, Any] = json.loads(_run("sites", trace, str(process)))
    return report


def habits(trace: Path, process: int) -> list[list[int]]:
    """By call site: number, blocks that died at once, their bytes, chains of growing blocks, growths, bytes
    copied (src/trace/profile/block_habits.h)."""
    table: list[list[int]] = json.loads(_run("habits", trace, str(process)))
    return table


def subsystems(trace: Path, process: int, groups: Iterable[Iterable[int]]) -> list[dict[str, Any]]:
    """Counts and episodes of groups of call sites (src/trace/profile/subsystems.h)."""
    lines = "".join(f"{' '.join(map(str, sites))}\n" for sites in groups)
    counted: list[dict[str, Any]] = json.loads(_run("subsystems", trace, str(process), given=lines))
    return counted


def rows(trace: Path, what: str) -> AbstractContextManager[IO[bytes]]:
    """A stream of the records of all processes: `what` is `events` or `blocks` (src/trace/profile/rows.h)."""
    return _running("rows", trace, what, is_text=False)


def import_(feed: Callable[[IO[bytes]], None], name: str, trace: Path) -> dict[str, Any]:
    """Make the file `trace` from the text that `feed` writes; `name` stands for the text in errors.

    Raises UsageError if the text is no trace.
    """
    return _fed(feed, name, "import", name, trace)


def make(feed: Callable[[IO[bytes]], None], source: str, trace: Path) -> dict[str, Any]:
    """Make the file `trace` from the rows of events that `feed` writes; `source` is a property."""
    return _fed(feed, str(trace), "make", source, trace)


def _fed(feed: Callable[[IO[bytes]], None], name: str, *command: str | Path) -> dict[str, Any]:
    with subprocess.Popen(
        [program(), *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert child.stdin
        assert child.stdout
        assert child.stderr
        with contextlib.suppress(BrokenPipeError):  # the tool has refused the text; its error says why
            feed(child.stdin)
            child.stdin.close()
        out, errors = child.stdout.read(), child.stderr.read()
    if child.returncode != 0:
        raise UsageError(
            errors.decode(errors=ANY_NAME).strip() or f"{name}: trace_tool ended with {child.returncode}"
        )
    report: dict[str, Any] = json.loads(out)
    return report


def finish(folder: Path, trace: Path, progress: Progress = lambda _done, _whole: None) -> None:
    """Make the file `trace` from the recording in `folder`; `progress` gets the bytes done and all bytes."""
    with _running("finish", folder, trace) as lines:
        for line in lines:
            done, whole = map(int, line.split())
            progress(done, whole)


def summary(trace: Path) -> dict[str, Any]:
    """The processes of a trace, one at least, and their properties.

    Raises UsageError if the file is no trace, and what `unusable` returns.
    """
    if trace.is_dir():
        raise UsageError(f"{trace}: is a folder, not a trace")
    with regular_file.opened(trace):
        pass  # the tool would wait for a pipe
    try:
        report: dict[str, Any] = json.loads(_run("summary", trace))
    except HeaplabError as error:
        raise UsageError(str(error)) from error
    if not report["processes"]:
        raise unusable(trace, "holds no process", report["damage"])
    return report


def unusable(trace: Path, why: str, damage: Sequence[str]) -> HeaplabError:
    """The error that a trace holds nothing to be used, which its damage explains if there is any."""
    return DamagedTraceError(f"{trace}: {why}: {damage[-1]}") if damage else UsageError(f"{trace}: {why}")


def _run(*command: str | Path, given: str = "") -> str:
    done = subprocess.run(
        [program(), *command], input=given, capture_output=True, errors=ANY_NAME, check=False
    )
    if done.returncode != 0:
        raise HeaplabError(done.stderr.strip() or f"trace_tool {command[0]} {ended(done.returncode)}")
    return done.stdout


@contextlib.contextmanager
def _running(command: str, trace: Path, *more: str | Path, is_text: bool = True) -> Iterator[IO[Any]]:
    """The output of the tool while it works. Raises HeaplabError if the tool fails."""
    words, decoding = [program(), command, trace, *more], ANY_NAME if is_text else None
    with tempfile.TemporaryFile("w+", errors=ANY_NAME) as errors:
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors, errors=decoding) as child:
            assert child.stdout
            yield child.stdout
        if child.returncode != 0:
            errors.seek(0)
            raise HeaplabError(errors.read().strip() or f"{trace}: trace_tool {ended(child.returncode)}")


def ended(status: int) -> str:
    return f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with {status}"
