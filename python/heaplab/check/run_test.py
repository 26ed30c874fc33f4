"""Runs one test under one library."""

import contextlib
import json
import os
import shlex
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import IO, Any

from heaplab.check.check_outcomes import CheckVerdict, Outcome
from heaplab.check.deviations import Deviation
from heaplab.check.parts import Test
from heaplab.machine.execute import DISTURBING, environment_for
from heaplab.records import Arm

FAILED, SKIPPED = 1, 77  # exit statuses: src/check/ending.h
MOST_TEXT = 4000  # bytes of the end of what a program writes
LINES_KEPT = 12

_running: set[subprocess.Popen[bytes]] = set()  # by all threads of the runner


def variables(library: Arm, long: bool) -> dict[str, str]:
    """What the environment of a test has beyond the user's."""
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


def run_test(test: Test, library: Arm, known: Deviation | None, long: bool) -> Outcome:
    """Run a test in a process of its own and judge it by what is known of the library."""
    if known and not known.run:
        return Outcome(
            part=test.part, test=test.name, verdict=CheckVerdict.LEFT_OUT, time=0, message=known.reason
        )
    if test.preloaded and not library.preload:
        return Outcome(
            part=test.part,
            test=test.name,
            verdict=CheckVerdict.SKIPPED,
            time=0,
            message="the C library's own malloc is no library file",
        )
    settings = variables(library, long)
    begin = time.monotonic()
    status, said, complaint = run_process(test, settings)
    verdict, message = judge(status, complaint, test.limit_s)
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


def run_process(test: Test, settings: dict[str, str]) -> tuple[int | None, str, str]:
    """The exit status (None: the time limit), standard output and the end of standard error."""
    environment = {name: value for name, value in os.environ.items() if name not in DISTURBING} | settings
    with tempfile.TemporaryDirectory(prefix="heaplab-check-") as folder:
        output, errors = (Path(folder) / name for name in ("output", "errors"))
        with output.open("wb") as out, errors.open("wb") as err:
            child = start(test, environment, folder, out, err)
            _running.add(child)
            try:
                status: int | None = child.wait(test.limit_s)
            except subprocess.TimeoutExpired:
                status = None
            finally:
                end_all(child)
                _running.discard(child)
        return status, tail(output), tail(errors)


def start(
    test: Test, environment: dict[str, str], folder: str, out: IO[bytes], err: IO[bytes]
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        test.command,
        env=environment,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=err,
        start_new_session=True,
    )


def end_running() -> None:
    """Have the tests that run now come to their end."""
    for child in list(_running):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)


def end_all(child: subprocess.Popen[bytes]) -> None:
    """Kill the test and whatever it left behind."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def tail(file: Path) -> str:
    with file.open("rb") as stream:
        stream.seek(max(0, file.stat().st_size - MOST_TEXT))
        return stream.read().decode(errors="replace")


def judge(status: int | None, complaint: str, limit_s: int) -> tuple[CheckVerdict, str]:
    lines = [line for line in complaint.replace("\0", "").splitlines() if line.strip()][-LINES_KEPT:]
    if status == 0:
        return CheckVerdict.PASSED, ""
    if status == SKIPPED:
        return CheckVerdict.SKIPPED, "\n".join(lines)
    if status is None:
        return CheckVerdict.HUNG, "\n".join([f"no end within {limit_s} s", *lines])
    if status == FAILED:
        return CheckVerdict.FAILED, "\n".join(lines) or "exit status 1"
    how = f"killed by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
    return CheckVerdict.CRASHED, "\n".join([how, *lines])


def observation(said: str) -> dict[str, Any]:
    """What a program tells in one line of JSON; {} if it tells nothing."""
    try:
        answer = json.loads(said)
        return {"says": str(answer.get("says", "")), "figures": dict(answer.get("figures", {}))}
    except (ValueError, AttributeError, TypeError):
        return {}


def against(outcome: Outcome, known: Deviation) -> Outcome:
    """Judge by a deviation that must still be there."""
    if outcome.bad:
        return outcome.model_copy(update={"verdict": CheckVerdict.DEVIATES, "message": known.reason})
    if outcome.verdict is CheckVerdict.PASSED:
        text = f"passes now, but the table of deviations says: {known.reason}"
        return outcome.model_copy(update={"verdict": CheckVerdict.MENDED, "message": text})
    return outcome
