"""One run: a fresh process that executes one cell under one allocator, from preparation to outcome."""

import os
import random
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import IO, Self, TypeVar, cast

from heaplab.campaign import memory_needs
from heaplab.campaign.command_line import program_of, words_of
from heaplab.campaign.plan import Block, Candidate, Cell, library_of, time_limit
from heaplab.campaign.run_outcome import (
    RunOutcome,
    ended_badly,
    judge_count,
    judge_disturbance,
    judge_sample,
    judge_server,
)
from heaplab.campaign.user_program import UserProgram, hook
from heaplab.campaign.warming import Warmer
from heaplab.errors import HeaplabError
from heaplab.machine import host, interposition
from heaplab.machine.callgrind import InstructionCounter
from heaplab.machine.execute import Execution, environment_for, execute
from heaplab.machine.watch import Limits
from heaplab.programs import PreparedInput, PreparedProgram, PreparedServer
from heaplab.records import Arm, Campaign, Run, Status
from heaplab.servers import ServerJob, free_port, serve

PADDING_MOST = 4096  # random B added to the environment: moves the stack (Mytkowicz et al., ASPLOS 2009)
Prepared = TypeVar("Prepared", bound=PreparedInput)


@dataclass
class RunMeasurer:
    """Executes the runs of one campaign on this machine. A context manager, because it prepares files."""

    campaign: Campaign
    libraries: dict[str, Arm]
    estimates: dict[str, int] = field(
        default_factory=dict
    )  # B, by key of the cell; see campaign/memory_needs.py
    warmer: Warmer | None = None  # None: by the campaign and the estimates
    tick: Callable[[], None] = lambda: None  # called again and again while a run is going on
    extra_environment: Mapping[str, str] = field(default_factory=dict)  # beside that of the arm
    _faults: dict[tuple[str, str], str] = field(default_factory=dict)
    _jobs: dict[str, PreparedInput | HeaplabError] = field(default_factory=dict)
    _counter: InstructionCounter | None = None

    def __post_init__(self) -> None:
        if self.campaign.instructions:
            self._counter = InstructionCounter()
        self._warmer = self.warmer or Warmer(self.campaign.warm, self.estimates)

    def __call__(self, block: Block, candidate: Candidate, order: int, attempt: int) -> Run:
        """Return the record of one run, with a reason if the run gave no figure."""
        cell, allocator = candidate
        library = self.libraries[library_of(allocator)]
        padding = 0 if self._counter else padding_of(block, candidate, attempt)
        environment = environment_of(cell, library) | {
            "HEAPLAB_PADDING": "x" * padding,
            **self.extra_environment,
        }
        execution, warming, foreign = None, None, 0.0
        try:
            program = program_of(cell, library)
            if fault := self._fault(cell, program, environment, library) or self._too_large(cell):
                outcome = RunOutcome(Status.SKIPPED, fault)
            else:
                warming = self._warmer.before(candidate)
                before = host.CpuTime.now()
                execution, outcome = self._execute(program, cell, block.seed, environment, library)
                foreign = before.foreign_until(host.CpuTime.now())
                self._warmer.after(candidate, execution, outcome.status)
        except HeaplabError as error:
            outcome = RunOutcome(Status.SKIPPED, str(error))
        if execution and outcome.status is Status.OK:
            if self._counter:
                outcome = judge_count(outcome, self._counter.taken(), cell, block.seed, library)
            else:
                outcome = judge_disturbance(outcome, execution, foreign, attempt)
        return Run(
            experiment=cell.experiment.id,
            cell=dict(cell.swept),
            allocator=allocator,
            block=block.number,
            order=order,
            seed=block.seed,
            attempt=attempt,
            status=outcome.status,
            reason=outcome.reason,
            environment_bytes=padding,
            foreign_cpu=foreign,
            warming=warming,
            sample=outcome.sample,
            process=execution.process if execution else None,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for job in self._jobs.values():
            if isinstance(job, PreparedInput):
                job.close()
        if self._counter:
            self._counter.close()

    @property
    def _prefix(self) -> list[str]:
        """What stands before the program of a run."""
        return self._counter.prefix if self._counter else []

    def _too_large(self, cell: Cell) -> str:
        """One line if the run needs more memory than it may use; else ""."""
        most, needed = self._most_memory(), self.estimates.get(cell.key, 0)
        if needed <= most:
            return ""
        return f"needs {memory_needs.in_words(needed)} of memory and may use {memory_needs.in_words(most)}"

    def _fault(self, cell: Cell, program: Path, environment: dict[str, str], library: Arm) -> str:
        """Why the arm gives no figure here; for a program that is no workload, found once for each pair."""
        if library.void:
            return f"void: {library.void}"
        if cell.workload.kind != "program" or library.command:
            return ""
        pair = (str(program), library.allocator)
        if pair not in self._faults:
            self._faults[pair] = interposition.fault_of_program(program, environment, library)
        return self._faults[pair]

    def _execute(
        self, program: Path, cell: Cell, seed: int, environment: dict[str, str], library: Arm
    ) -> tuple[Execution, RunOutcome]:
        if self._counter:
            self._counter.forget()
        if cell.workload.server:
            return self._serve(program, cell, seed, environment, library)
        if cell.workload.kind == "program":
            return self._execute_program(program, cell, environment, library)
        with tempfile.TemporaryFile() as errors, memory_file() as samples:
            harness = ["--seed", str(seed), "--json", f"fd:{samples.fileno()}"]
            limits = self._limits(cell, library)
            execution = execute(
                [*self._prefix, program, *words_of(cell, library), *harness],
                environment,
                limits,
                pass_fds=[samples.fileno()],
                errors=errors,
                tick=self.tick,
            )
            return execution, ended_badly(execution, errors, limits) or judge_sample(samples, library)

    def _execute_program(
        self, program: Path, cell: Cell, environment: dict[str, str], library: Arm
    ) -> tuple[Execution, RunOutcome]:
        limits, watch, fault = self._limits(cell, library), library.preload[:1], ""
        with tempfile.TemporaryFile() as errors:
            if fixture := cell.workload.fixture:
                words = [*self._prefix, str(program), *cell.workload.arguments]
                alone = self._limits(cell, None)
                job = self._prepared(cell, lambda: PreparedProgram(fixture, words, alone))
                execution, fault = job.run(environment, limits, errors=errors, watch=watch, tick=self.tick)
            else:
                command: list[str | Path] = [*self._prefix, program, *words_of(cell, library)]
                own = UserProgram(self.campaign, command, limits, self.tick)
                execution = own.run(environment, errors=errors, watch=watch)
            if outcome := ended_badly(execution, errors, limits):
                return execution, outcome
        if fault:
            return execution, RunOutcome(Status.FAILED, fault)
        if library.preload and execution.seen and not execution.mapped:
            return execution, RunOutcome(Status.VOID, f"no process of it loaded {library.preload[0]}")
        return execution, RunOutcome(Status.OK)

    def _serve(
        self, program: Path, cell: Cell, seed: int, environment: dict[str, str], library: Arm
    ) -> tuple[Execution, RunOutcome]:
        cpus, client_cpus = host.cpus_apart(self.campaign.pinned)
        limits, fixture, server = (
            replace(self._limits(cell, library), cpus=cpus),
            cell.workload.fixture,
            cell.workload.server,
        )
        assert server
        with tempfile.TemporaryFile() as log:
            job = ServerJob(
                command=[program, *words_of(cell, library)],
                server=server,
                environment=environment,
                limits=limits,
                client_cpus=client_cpus,
                port=free_port(),
                log=log,
                prove=lambda pid: (
                    "" if library.command else interposition.fault_of_process(pid, environment, library)
                ),
                tick=self.tick,
            )
            if fixture:
                prepared = self._prepared(cell, lambda: PreparedServer(fixture, job))
                served = prepared.serve(job)
            else:
                hook("--prepare", self.campaign.prepare)
                served = serve(job)
                hook("--cleanup", self.campaign.cleanup)
        return served.execution, judge_server(served, limits, cell, seed, library)

    def _prepared(self, cell: Cell, make: Callable[[], Prepared]) -> Prepared:
        """The program with its input, prepared before the first run. Raises HeaplabError if that fails."""
        name = cell.workload.id
        if name not in self._jobs:
            try:
                self._jobs[name] = make()
            except HeaplabError as error:
                self._jobs[name] = error
            if self._counter:
                self._counter.forget()  # the reference run
        job = self._jobs[name]
        if isinstance(job, HeaplabError):
            raise job
        return cast(Prepared, job)

    def _limits(self, cell: Cell, library: Arm | None) -> Limits:
        return Limits(
            time=time_limit(self.campaign, cell),
            memory=self._most_memory(),
            cpus=host.cpus_to_pin() if self.campaign.pinned else None,
            huge_pages=library.huge_pages if library else None,
        )

    def _most_memory(self) -> int:
        return self.campaign.memory_limit or memory_needs.of_this_machine()


def padding_of(block: Block, candidate: Candidate, attempt: int) -> int:
    """Bytes added to the environment."""
    key = f"{block.seed}/{candidate.cell.key}/{candidate.allocator}/{attempt}"
    return random.Random(key).randrange(PADDING_MOST)


def environment_of(cell: Cell, library: Arm) -> dict[str, str]:
    """The environment of the arm. Where an arm preloads nothing, libc comes first in any program."""
    environment = environment_for(library)
    if cell.workload.kind == "program" and not (library.preload or library.command):
        environment["LD_PRELOAD"] = interposition.C_LIBRARY_NAME
    return environment


def memory_file() -> IO[bytes]:
    """A file without a name, to which the workload writes its sample."""
    return os.fdopen(os.memfd_create("heaplab-sample"), "w+b")
