"""Runs the tests of a library, several at a time, each in a process of its own."""

import contextlib
import json
import os
import resource
import shlex
import signal
import subprocess
import tempfile
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import IO, Any

from heaplab.check.check_outcomes import CheckVerdict, LibraryReport, Outcome
from heaplab.check.deviations import Deviation
from heaplab.check.parts import Test
from heaplab.check.patience import Patience
from heaplab.machine import native
from heaplab.machine.execute import DISTURBING, environment_for
from heaplab.results.records import Arm

FAILED, SKIPPED, ABSENT = 1, 77, 78  # exit statuses: src/check/ending.h
MOST_TEXT = 4000  # bytes that are kept of the end of a program's output
LINES_KEPT = 12
LOOK_EVERY_S = 0.5


class Queue:
    """The tests that are still to be run, with their places in the report.

    The part with the fewest tests that are running or have hung comes first, so that a part whose tests hang
    does not hold up the others.
    """

    def __init__(self, tests: Sequence[Test]) -> None:
        self._lock = threading.Lock()
        self._held_up: Counter[str] = Counter()
        self._waiting: dict[str, deque[tuple[int, Test]]] = {}
        for place, test in enumerate(tests):
            self._waiting.setdefault(test.part, deque()).append((place, test))

    def take(self) -> tuple[int, Test] | None:
        with self._lock:
            left = [part for part, waiting in self._waiting.items() if waiting]
            if not left:
                return None
            part = min(left, key=lambda name: self._held_up[name])
            self._held_up[part] += 1
            return self._waiting[part].popleft()

    def done(self, outcome: Outcome) -> None:
        with self._lock:
            self._held_up[outcome.part] -= outcome.verdict is not CheckVerdict.HUNG


class Running:
    """The tests that are running, started by all threads of the runner."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._children: set[subprocess.Popen[bytes]] = set()
        self._is_over = False

    def begin(self, start: Callable[[], subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
        """Start a test. Raises InterruptedError after end_all, which would miss a test that starts now."""
        with self._lock:
            if self._is_over:
                raise InterruptedError
            child = start()
            self._children.add(child)
            return child

    def end(self, child: subprocess.Popen[bytes]) -> None:
        """Have a test killed with all that it has started, if it has not ended (src/check/guard.cpp).

        Raises InterruptedError after end_all: the test was killed, and its outcome is unknown.
        """
        release(child)
        child.wait()
        with self._lock:
            self._children.discard(child)
            if self._is_over:
                raise InterruptedError

    def end_all(self) -> None:
        """End all running tests, and let no further test start."""
        with self._lock:
            self._is_over = True
            for child in self._children:
                release(child)


def release(child: subprocess.Popen[bytes]) -> None:
    """Close the pipe whose end tells the guard of a test that nobody waits for the test."""
    assert child.stdin
    child.stdin.close()


def run_all(
    library: Arm,
    tests: Sequence[Test],
    known: Mapping[str, Deviation],
    *,
    long: bool,
    jobs: int,
    tick: Callable[[Outcome], None] = lambda _: None,
) -> LibraryReport:
    """Run the tests and return their outcomes in the given order; `tick` is called as each ends."""
    queue, running = Queue(tests), Running()
    outcomes: dict[int, Outcome] = {}

    def work() -> None:
        while taken := queue.take():
            place, test = taken
            outcomes[place] = outcome = run_test(test, library, known.get(test.name), long, running)
            queue.done(outcome)
            tick(outcome)

    with no_core_files(), ThreadPoolExecutor(jobs) as pool:
        try:
            for worker in [pool.submit(work) for _ in range(jobs)]:
                worker.result()
        except BaseException:  # Ctrl-C too: tests that have not started are not run
            running.end_all()
            raise
    return LibraryReport(library=library, outcomes=[outcomes[place] for place in range(len(tests))])


@contextlib.contextmanager
def no_core_files() -> Iterator[None]:
    """Write no core files: many tests end by a signal, and their core files would fill the disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))


def variables(library: Arm, long: bool) -> dict[str, str]:
    """The variables of a test beside the user's environment."""
    around = environment_for(library)
    names = {*DISTURBING, *library.environment, "LD_LIBRARY_PATH"} & set(around)
    result = {name: around[name] for name in sorted(names)}
    if library.preload:
        result["HEAPLAB_LIBRARY_UNDER_TEST"] = library.preload[0]
    if not long:
        result["HEAPLAB_STRESS"] = "short"
    return result


def repeat_command(test: Test, settings: dict[str, str]) -> str:
    """The one command that repeats a test under gdb. Its shell is not served by the library."""
    wrapper = shlex.join(["env", *(f"{name}={value}" for name, value in settings.items())])
    return shlex.join(["gdb", "-ex", f"set exec-wrapper {wrapper}", "-ex", "run", "--args", *test.command])


def run_test(test: Test, library: Arm, known: Deviation | None, long: bool, running: Running) -> Outcome:
    """Run a test in a process of its own and judge the test by the known deviation of the library."""
    if known and not known.run:
        return not_run(test, CheckVerdict.LEFT_OUT, known.reason)
    if test.preloaded and not library.preload:
        return not_run(test, CheckVerdict.SKIPPED, "the C library's own malloc is no library file")
    settings = variables(library, long)
    begin = time.monotonic()
    status, said, complaint = run_process(test, settings, running)
    verdict, message = judge(status, complaint)
    outcome = Outcome(
        part=test.part,
        test=test.name,
        verdict=verdict,
        time=time.monotonic() - begin,
        message=message,
        repeat=repeat_command(test, settings),
        **observation(said),
    )
    return outcome if known is None else against(outcome, known)


def not_run(test: Test, verdict: CheckVerdict, why: str) -> Outcome:
    return Outcome(part=test.part, test=test.name, verdict=verdict, time=0, message=why)


def run_process(test: Test, settings: dict[str, str], running: Running) -> tuple[int | str, str, str]:
    """The exit status, or why the test hung; standard output and the end of standard error."""
    environment = {name: value for name, value in os.environ.items() if name not in DISTURBING}
    guard = str(native.needed(native.helper("check_guard"), "check_guard"))
    words = [guard, *(f"{name}={value}" for name, value in settings.items()), *test.command]
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        streams: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": output, "stderr": errors}
        child = running.begin(
            lambda: subprocess.Popen(words, env=environment, start_new_session=True, **streams)
        )
        try:
            status = status_of(child, Patience(child.pid, test.usual_s))
        finally:
            running.end(child)
        return status, tail(output), tail(errors)


def status_of(child: subprocess.Popen[bytes], patience: Patience) -> int | str:
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return child.wait(LOOK_EVERY_S)
        if why := patience.is_over():
            return why


def tail(stream: IO[bytes]) -> str:
    stream.seek(max(0, stream.seek(0, os.SEEK_END) - MOST_TEXT))
    return stream.read().decode(errors="replace")


def judge(status: int | str, complaint: str) -> tuple[CheckVerdict, str]:
    lines = [line for line in complaint.replace("\0", "").splitlines() if line.strip()][-LINES_KEPT:]
    if isinstance(status, str):
        return CheckVerdict.HUNG, "\n".join([status, *lines])
    if status == 0:
        return CheckVerdict.PASSED, ""
    if status == SKIPPED:
        return CheckVerdict.SKIPPED, "\n".join(lines)
    if status == ABSENT:
        return CheckVerdict.ABSENT, "\n".join(lines)
    if status == FAILED:
        return CheckVerdict.FAILED, "\n".join(lines) or "exit status 1"
    how = f"killed by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
    return CheckVerdict.CRASHED, "\n".join([how, *lines])


def observation(said: str) -> dict[str, Any]:
    """The values that a program prints in one line of JSON; {} if it prints none."""
    try:
        answer = json.loads(said)
        return {"says": str(answer.get("says", "")), "figures": dict(answer.get("figures", {}))}
    except (ValueError, AttributeError, TypeError):
        return {}


def against(outcome: Outcome, known: Deviation) -> Outcome:
    """The outcome, judged by a known deviation, which must still exist."""
    if outcome.bad or outcome.verdict is CheckVerdict.ABSENT:
        return outcome.model_copy(update={"verdict": CheckVerdict.DEVIATES, "message": known.reason})
    if outcome.verdict is CheckVerdict.PASSED:
        text = f"passes now, but the table of deviations says: {known.reason}"
        return outcome.model_copy(update={"verdict": CheckVerdict.MENDED, "message": text})
    return outcome
