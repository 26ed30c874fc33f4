"""A server of the catalog with its input, which can run any number of times under any library."""

from dataclasses import replace
from pathlib import Path

from heaplab.catalog.spec import Fixture
from heaplab.errors import HeaplabError
from heaplab.machine.execute import failure, plain_environment
from heaplab.programs.prepared_input import PreparedInput
from heaplab.servers import ServedRun, ServerJob, serve
from heaplab.servers.client import filled

# suffix of templates: {port} is replaced, and the result has the name without the suffix
PLACEHOLDERS = ".in"
REFERENCE_IDLE_S = 0.01


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
            return replace(served, fault=served.fault or self._wrong_output(served, folder))

    def _wrong_output(self, served: ServedRun, folder: Path) -> str:
        return self.fault_of(folder) if self.fixture.output and served.metrics else ""
