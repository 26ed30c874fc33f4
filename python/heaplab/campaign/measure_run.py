"""One run: a fresh process that executes one cell under one allocator, from preparation to outcome."""

import math
import os
import random
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self, TypeVar, cast

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
from heaplab.machine import host, interposition, topology, trimming
from heaplab.machine.behaviour import Observer
from heaplab.machine.callgrind import CLOCKED, InstructionCounter
from heaplab.machine.execute import Execution, Job, Steps, alone, environment_for
from heaplab.machine.slices import in_slices
from heaplab.machine.watch import Limits, Look, no_look
from heaplab.programs import PreparedInput, PreparedProgram, PreparedServer
from heaplab.programs.servers import ServerJob, free_port, serve
from heaplab.results.records import Arm, Campaign, Run, Status, Trims

PADDING_MOST = 4096  # random B added to the environment: moves the stack (Mytkowicz et al., ASPLOS 2009)
Prepared = TypeVar("Prepared", bound=PreparedInput)


@dataclass
class RunMeasurer:
    """Executes the runs of one campaign on this machine. A context manager, because it prepares files."""

    campaign: Campaign
    libraries: dict[str, Arm]
    estimates: dict[str, int] = field(default_factory=dict)  # B, by key of the cell: memory_needs.py
    warmer: Warmer | None = None  # None: by the campaign and the estimates
    tick: Callable[[], None] = lambda: None  # called again and again while a run is going on
    until: float = math.inf  # on the monotonic clock: the end of a run that is alone, at the latest
    extra_environment: Mapping[str, str] = field(default_factory=dict)  # beside that of the arm
    members: Path | None = None  # of the control group in which programs run; see watch.Limits
    look: Look | None = None  # looks at each run that is alone; None: an observer looks at those of block 0
    _faults: dict[tuple[str, str], str] = field(default_factory=dict)
    _jobs: dict[str, PreparedInput | HeaplabError] = field(default_factory=dict)
    _counter: InstructionCounter | None = None

    def __post_init__(self) -> None:
        if self.campaign.instructions:
            self._counter = InstructionCounter()
        self._warmer = self.warmer or Warmer(self.campaign.warm, self.estimates)

    def __call__(self, block: Block, candidate: Candidate, order: int, attempt: int) -> Run:
        """Return the record of one run, alone on the machine, with a reason if the run gave no figure."""
        observer = Observer() if block.number == 0 and not self._counter and not self.look else None
        warming = self._warmer.before(candidate)
        steps = self._steps(block, candidate, attempt)
        before = host.CpuTime.now()
        measured = alone(steps, self.tick, self.look or (observer.look if observer else None))
        foreign, stolen = host.CpuTime.now().foreign_since(before)
        if measured.execution and measured.outcome.status is Status.OK and not self._counter:
            judged = judge_disturbance(measured.outcome, measured.execution, foreign, attempt)
            measured = replace(measured, outcome=judged)
        run = self._record(block, candidate, order, attempt, measured)
        seen = observer.behaviour(run.process) if observer and run.process else None
        if seen and run.trims is not None:
            seen = seen.model_copy(update={"oddities": [*seen.oddities, trimming.BY_THE_CLOCK]})
        others = {"foreign_cpu": foreign, "stolen_cpu": stolen}
        return run.model_copy(update={**others, "behaviour": seen, "warming": warming})

    def together(
        self,
        block: Block,
        candidates: Sequence[Candidate],
        weights: Sequence[float],
        order: int,
        one_cpu: bool,
    ) -> list[Run]:
        """Return the records of runs that take place at the same time, in turns.

        `weights` are proportional to the time that each is expected to take.
        """
        warming = self._warmer.before(*candidates)
        cpus = self._one_cpu(block) if one_cpu else None
        before = host.CpuTime.now()
        all_steps = [self._steps(block, candidate, 0) for candidate in candidates]
        measured = in_slices(all_steps, weights, self.tick, cpus)
        foreign, stolen = host.CpuTime.now().foreign_since(before)
        whole = sum(measurement.own for measurement in measured) or 1.0
        runs = []
        for place, (candidate, each) in enumerate(zip(candidates, measured, strict=True)):
            others = {
                "turns": each.turns,
                "foreign_cpu": foreign * each.own / whole,
                "stolen_cpu": stolen * each.own / whole,
                "warming": None if place else warming,
            }
            run = self._record(block, candidate, order + place, 0, each.result)
            runs.append(run.model_copy(update=others))
        return runs

    def _one_cpu(self, block: Block) -> frozenset[int]:
        """One CPU, by chance where there is a choice: a busy neighbour is not the same on all of them."""
        cpus = self._cpus(block.comparison.cells[0]) or os.sched_getaffinity(0)
        key = f"{block.seed}/{block.comparison.key}/cpu"
        return frozenset({random.Random(key).choice(sorted(cpus))})

    def _steps(self, block: Block, candidate: Candidate, attempt: int) -> Steps["Measured"]:
        """One run, from preparation to outcome."""
        cell, allocator = candidate
        library = self.libraries[library_of(allocator)]
        padding = 0 if self._counter else padding_of(block, candidate, attempt)
        environment = environment_of(cell, library) | {
            "HEAPLAB_PADDING": "x" * padding,
            **self.extra_environment,
        }
        execution, trims = None, None
        try:
            program = program_of(cell, library)
            if fault := self._fault(cell, program, environment, library) or self._too_large(cell):
                outcome = RunOutcome(Status.SKIPPED, fault)
            else:
                with trimming.costs_in(environment) as costs:
                    execution, outcome = yield from self._execute(
                        program, cell, block.seed, environment | costs.environment, library
                    )
                    trims = costs.found
                self._warmer.remember(candidate, execution, outcome.status)
        except HeaplabError as error:
            outcome = RunOutcome(Status.SKIPPED, str(error))
        if execution and outcome.status is Status.OK and self._counter:
            outcome = judge_count(outcome, self._counter.taken(), cell, block.seed, library)
        return Measured(padding, execution, outcome, trims)

    def _record(
        self, block: Block, candidate: Candidate, order: int, attempt: int, measured: "Measured"
    ) -> Run:
        cell, allocator = candidate
        return Run(
            experiment=cell.experiment.id,
            cell=dict(cell.swept),
            allocator=allocator,
            block=block.number,
            order=order,
            seed=block.seed,
            attempt=attempt,
            status=measured.outcome.status,
            reason=measured.outcome.reason,
            environment_bytes=measured.padding,
            foreign_cpu=0,
            sample=measured.outcome.sample,
            process=measured.execution.process if measured.execution else None,
            trims=measured.trims,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for job in self._jobs.values():
            if isinstance(job, PreparedInput):
                job.close()
        if self._counter:
            self._counter.close()

    def _prefix(self, *more: str) -> list[str]:
        """The words of a command line before the program: callgrind, if it counts instructions."""
        return [*self._counter.prefix, *more] if self._counter else []

    def _too_large(self, cell: Cell) -> str:
        """One line if the run needs more memory than it may use; else ""."""
        most, needed = self._most_memory(), self.estimates.get(cell.key, 0)
        if needed <= most:
            return ""
        return f"needs {memory_needs.in_words(needed)} of memory and may use {memory_needs.in_words(most)}"

    def _fault(self, cell: Cell, program: Path, environment: dict[str, str], library: Arm) -> str:
        """Why the arm gives no figure here; a real program is examined once for each arm."""
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
    ) -> Steps[tuple[Execution, RunOutcome]]:
        if self._counter:
            self._counter.forget()
        if cell.workload.server:
            return self._serve(program, cell, seed, environment, library)
        if cell.workload.kind == "program":
            return (yield from self._execute_program(program, cell, environment, library))
        with (
            tempfile.TemporaryFile() as errors,
            os.fdopen(os.memfd_create("heaplab-sample"), "w+b") as samples,
        ):
            harness = ["--seed", str(seed), "--json", f"fd:{samples.fileno()}"]
            limits = self._limits(cell, library)
            execution = yield Job(
                [*self._prefix(CLOCKED), program, *words_of(cell, library), *harness],
                environment,
                limits,
                pass_fds=[samples.fileno()],
                errors=errors,
                knows_pauses=True,
            )
            return execution, ended_badly(execution, errors, limits) or judge_sample(samples, library)

    def _execute_program(
        self, program: Path, cell: Cell, environment: dict[str, str], library: Arm
    ) -> Steps[tuple[Execution, RunOutcome]]:
        limits, watch, fault = self._limits(cell, library), library.preload[:1], ""
        with tempfile.TemporaryFile() as errors:
            if fixture := cell.workload.fixture:
                words = [*self._prefix(), str(program), *cell.workload.arguments]
                reference = self._limits(cell, None)
                job = self._prepared(cell, lambda: PreparedProgram(fixture, words, reference))
                execution, fault = yield from job.run(environment, limits, errors=errors, watch=watch)
            else:
                command: list[str | Path] = [*self._prefix(), program, *words_of(cell, library)]
                own = UserProgram(self.campaign, command, limits)
                execution = yield from own.run(environment, errors=errors, watch=watch)
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
        limits = replace(self._limits(cell, library), cpus=cpus)
        fixture, server = cell.workload.fixture, cell.workload.server
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
                look=self.look or no_look,
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
            time=min(time_limit(self.campaign, cell), max(0.0, self.until - time.monotonic())),
            memory=self._most_memory(),
            cpus=self._cpus(cell),
            huge_pages=library.huge_pages if library else None,
            members=self.members,
        )

    def _cpus(self, cell: Cell) -> frozenset[int] | None:
        """The CPUs that a run of the cell is limited to; None: all that heaplab itself may use."""
        threads = dict(cell.parameters).get("threads")
        if self.campaign.placed and isinstance(threads, int):
            return frozenset(cpu.number for cpu in topology.usable()[:threads])
        return host.cpus_to_pin() if self.campaign.pinned else None

    def _most_memory(self) -> int:
        return self.campaign.memory_limit or memory_needs.of_this_machine()


@dataclass(frozen=True)
class Measured:
    """What a run showed, before it is judged whether others disturbed it."""

    padding: int
    execution: Execution | None
    outcome: RunOutcome
    trims: Trims | None = None


def padding_of(block: Block, candidate: Candidate, attempt: int) -> int:
    """The number of bytes added to the environment; the same when the run is measured again."""
    key = f"{block.seed}/{candidate.cell.key}/{candidate.allocator}/{attempt}"
    return random.Random(key).randrange(PADDING_MOST)


def environment_of(cell: Cell, library: Arm) -> dict[str, str]:
    is_program = cell.workload.kind == "program" and not library.runtime
    return environment_for(interposition.preloaded(library) if is_program else library)
