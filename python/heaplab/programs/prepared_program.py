"""A real program with its input, which can run any number of times under any library."""

import subprocess
from collections.abc import Mapping, Sequence
from typing import IO, NamedTuple

from heaplab.catalog.spec import Fixture
from heaplab.errors import HeaplabError
from heaplab.machine.execute import Execution, Job, Steps, alone, failure, plain_environment
from heaplab.machine.watch import Limits
from heaplab.programs.prepared_input import STANDARD_OUTPUT, PreparedInput


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
