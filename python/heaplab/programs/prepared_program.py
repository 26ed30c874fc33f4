"""A real program with its input, which can be run any number of times under any library."""

import contextlib
import hashlib
import shutil
import subprocess
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from heaplab.catalog.spec import Fixture
from heaplab.errors import HeaplabError, UsageError
from heaplab.machine.execute import Execution, execute, plain_environment, start
from heaplab.machine.watch import Limits
from heaplab.programs.inputs import INPUTS

STANDARD_OUTPUT = "standard-output"  # file in the folder of a run
DRIVER_ENDS_S = 20.0  # that a driver may live after its server


class CheckedExecution(NamedTuple):
    execution: Execution
    fault: str  # why a run that ended well counts for nothing, in one line; "" if it counts


class PreparedProgram:
    """Prepares the input once. Every run gets a copy of the input as its current folder.

    The first run is the reference: without any library preloaded. Every later one must write the same.
    """

    def __init__(self, fixture: Fixture, command: Sequence[str], limits: Limits) -> None:
        """Raise HeaplabError if the program fails without any library preloaded."""
        if fixture.input not in INPUTS:
            raise UsageError(f"no input {fixture.input!r}; known: {', '.join(INPUTS)}")
        if missing := [name for name in fixture.needs if shutil.which(name) is None]:
            raise UsageError(f"{missing[0]}: no such program")
        self._fixture = fixture
        self._command = command
        self._holder = Path(tempfile.mkdtemp(prefix="heaplab-"))
        self._remove = weakref.finalize(self, shutil.rmtree, self._holder, ignore_errors=True)
        self._input = self._holder / "input"
        self._input.mkdir()
        INPUTS[fixture.input](self._input)
        self._expected = ""
        execution, fault = self.run(plain_environment(), limits, errors=subprocess.DEVNULL)
        if execution.exit_status != 0 or fault:
            why = fault or f"exit status {execution.exit_status}"
            raise HeaplabError(f"{command[0]}: fails without any library preloaded: {why}")

    def close(self) -> None:
        """Remove the input; at the latest this happens when heaplab ends, unless it is killed outright."""
        self._remove()

    def run(
        self,
        environment: Mapping[str, str],
        limits: Limits,
        *,
        errors: IO[bytes] | int,
        watch: Sequence[str] = (),
        tick: Callable[[], None] = lambda: None,
    ) -> CheckedExecution:
        surroundings = {**environment, **self._fixture.environment}
        with self._copy() as folder, (folder / STANDARD_OUTPUT).open("wb") as output:
            with self._driver(folder) as driver:
                execution = execute(
                    self._command,
                    surroundings,
                    limits,
                    errors=errors,
                    watch=watch,
                    output=output,
                    folder=folder,
                    tick=tick,
                )
            if driver and driver.returncode != 0:
                return CheckedExecution(
                    execution, f"what drives it failed with exit status {driver.returncode}"
                )
            return CheckedExecution(execution, self._fault_of(folder) if execution.exit_status == 0 else "")

    @contextlib.contextmanager
    def _copy(self) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(dir=self._holder) as name:
            yield Path(shutil.copytree(self._input, name, dirs_exist_ok=True))

    @contextlib.contextmanager
    def _driver(self, folder: Path) -> Iterator[subprocess.Popen[bytes] | None]:
        """The client of a server: runs beside it, without the library, and does not outlive it for long."""
        if not self._fixture.driver:
            yield None
            return
        with contextlib.ExitStack() as at_end:
            driver = start(
                self._fixture.driver,
                at_end,
                cwd=folder,
                env=plain_environment(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            yield driver
            with contextlib.suppress(subprocess.TimeoutExpired):
                driver.wait(DRIVER_ENDS_S)

    def _fault_of(self, folder: Path) -> str:
        name = self._fixture.output or STANDARD_OUTPUT
        try:
            digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        except FileNotFoundError:
            return f"it left no file {name}"
        self._expected = self._expected or digest
        return "" if digest == self._expected else f"its {name} is not what it writes without the library"
