"""CPython's own test suite: what passes without the library must pass under it."""

import os
import re
import signal
import subprocess
from pathlib import Path

from serving import ProgramError

LIMIT_S = 1500
INTERPRETER = "/usr/bin/python3"  # Debian's, whose suite is the package libpython3.11-testsuite
TESTS = Path(__file__).with_name("cpython_tests.txt")


def cpython(environment: dict[str, str], folder: Path) -> str:
    """Return the outcome of every test; each object of the interpreter is a block of malloc."""
    command = [INTERPRETER, "-m", "test", "-j2", "--timeout=600", "-u", "cpu", "--tempdir", str(folder)]
    words = environment | {"PYTHONMALLOC": "malloc"}
    with subprocess.Popen(
        [*command, *TESTS.read_text().split()],
        env=words,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as suite:
        try:
            told, _ = suite.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(suite.pid, signal.SIGKILL)
            raise ProgramError(f"CPython's tests: no end after {LIMIT_S} s") from None
    (folder / "told.txt").write_text(told)
    if suite.returncode not in (0, 2):  # 2: tests failed
        raise ProgramError(f"CPython's tests: exit status {suite.returncode}\n{told[-4000:]}")
    outcomes = re.findall(r"\[[ 0-9/]+\] (test_\w+) (\w+)", told)
    return "\n".join(sorted(f"{name} {outcome}" for name, outcome in outcomes))
