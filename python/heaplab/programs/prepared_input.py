"""Programs and servers of the catalog with their input, made once, of which each run gets a fresh copy."""

import contextlib
import hashlib
import os
import shutil
import subprocess
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, NamedTuple

from heaplab.errors import HeaplabError, UsageError
from heaplab.machine.execute import Execution, Job, Steps, alone, failure, plain_environment
from heaplab.machine.watch import Limits
from heaplab.programs.inputs import INPUTS
from heaplab.programs.servers import ServedRun, ServerJob, serve
from heaplab.programs.servers.client import filled
from heaplab.results.spec import Fixture

STANDARD_OUTPUT = "standard-output"  # file in the folder of a run
# suffix of templates: {port} is replaced, and the result has the name without the suffix
PLACEHOLDERS = ".in"
REFERENCE_IDLE_S = 0.01


class PreparedInput:
    """Makes the input once. Every run gets a copy of the input in a new folder, its working directory.

    The first run is the reference and runs without any preloaded library. Every later run must write the same
    output.
    """

    def __init__(self, fixture: Fixture) -> None:
        """Raise HeaplabError if the input cannot be made."""
        if fixture.input not in INPUTS:
            raise UsageError(f"no input {fixture.input!r}; known: {', '.join(INPUTS)}")
        if missing := [name for name in fixture.needs if shutil.which(name) is None]:
            raise UsageError(f"{missing[0]}: no such program")
        self.fixture = fixture
        self.user = fixture.user if os.getuid() == 0 else ""  # account under which the program runs
        self._holder = Path(tempfile.mkdtemp(prefix="heaplab-"))
        self._remove = weakref.finalize(self, shutil.rmtree, self._holder, ignore_errors=True)
        self._input = self._holder / "input"
        self._input.mkdir()
        if self.user:
            self._holder.chmod(0o711)
            self._hand_over(self._input)
        INPUTS[fixture.input](self._input)
        self._expected = ""

    def close(self) -> None:
        """Remove the input.

        Without this call, heaplab removes the input when it ends, unless it is killed.
        """
        self._remove()

    @contextlib.contextmanager
    def copied(self) -> Iterator[Path]:
        """A folder with the input, which exists until the end of the block."""
        with tempfile.TemporaryDirectory(dir=self._holder) as name:
            folder = Path(shutil.copytree(self._input, name, dirs_exist_ok=True))
            if self.user:
                self._hand_over(folder)
            yield folder

    def fault_of(self, folder: Path) -> str:
        """How the output of a run in `folder` differs from that of the reference run; "" if it does not."""
        name = self.fixture.output or STANDARD_OUTPUT
        try:
            digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        except FileNotFoundError:
            return f"it left no file {name}"
        self._expected = self._expected or digest
        return "" if digest == self._expected else f"its {name} is not what it writes without the library"

    def _hand_over(self, folder: Path) -> None:
        """Give a folder with its contents to the account under which the program runs."""
        try:
            for path in (folder, *folder.rglob("*")):
                shutil.chown(path, self.user, self.user)
        except LookupError:
            raise HeaplabError(f"no user {self.user}; Debian's {self.fixture.package} makes it") from None


class CheckedExecution(NamedTuple):
    execution: Execution
    fault: str  # why a run that ended well does not count, in one line; "" if it counts


class PreparedProgram(PreparedInput):
    """A program that ends by itself."""

    def __init__(self, fixture: Fixture, command: Sequence[str], limits: Limits) -> None:
        """Raise HeaplabError if the program fails without any preloaded library."""
        super().__init__(fixture)
        self._command = command
        execution, fault = alone(self.run(plain_environment(), limits, errors=subprocess.DEVNULL))
        if why := fault or failure(execution, "", limits):
            raise HeaplabError(f"{command[0]}: fails without any library preloaded: {why}")

    def run(
        self,
        environment: Mapping[str, str],
        limits: Limits,
        *,
        errors: IO[bytes] | int,
        watch: Sequence[str] = (),
    ) -> Steps[CheckedExecution]:
        with self.copied() as folder, (folder / STANDARD_OUTPUT).open("wb") as output:
            execution = yield Job(
                self._command,
                {**environment, **self.fixture.environment},
                limits,
                errors=errors,
                watch=watch,
                output=output,
                folder=folder,
            )
            return CheckedExecution(execution, self.fault_of(folder) if execution.exit_status == 0 else "")


class PreparedServer(PreparedInput):
    """A program that serves until it is told to end."""

    def __init__(self, fixture: Fixture, job: ServerJob) -> None:
        """Raise HeaplabError if the server fails without any preloaded library."""
        super().__init__(fixture)
        short = job.server.model_copy(update={"bursts": 1, "idle_s": [REFERENCE_IDLE_S]})
        reference = replace(
            job,
            server=short,
            environment=plain_environment(),
            limits=replace(job.limits, huge_pages=None),
            prove=lambda _pid: "",
        )
        served = self.serve(reference)
        if why := served.fault or failure(served.execution, "", job.limits):
            raise HeaplabError(f"{job.command[0]}: fails without any library preloaded: {why}")

    def serve(self, job: ServerJob) -> ServedRun:
        """Run the server in a fresh copy of its input."""
        with self.copied() as folder:
            for path in folder.glob(f"*{PLACEHOLDERS}"):
                path.with_suffix("").write_text(filled(path.read_text(), job.port))
            environment = {**job.environment, **self.fixture.environment}
            served = serve(replace(job, environment=environment, folder=folder, user=self.user))
            wrong = self.fault_of(folder) if self.fixture.output and served.metrics else ""
            return replace(served, fault=served.fault or wrong)
