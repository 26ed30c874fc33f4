"""Gates between commits: a commit is built, measured against another and judged; the result is kept."""

import hashlib
import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import click

from heaplab import analysis
from heaplab.bisect.commit_search import State
from heaplab.bisect.history import SHORT, CannotBuildError, Commit, CommitBuilds
from heaplab.bisect.work import Work
from heaplab.catalog.contents import Catalog
from heaplab.comparison.benchmark import request_of
from heaplab.comparison.run_campaign import is_measured
from heaplab.comparison.shown_results import load
from heaplab.comparison.whole_budget import WholeBudget
from heaplab.errors import HeaplabError, UsageError
from heaplab.files import regular_file
from heaplab.files.output import write_text
from heaplab.gate import auto_budget, run_gate
from heaplab.machine import host
from heaplab.options.given_options import GateOptions, Subject
from heaplab.options.measuring_options import COUNTERS, ONLY_CALLGRIND
from heaplab.options.option_types import DEFAULT_PARENT
from heaplab.report.terminal import gate_output
from heaplab.results import store
from heaplab.results.records import Parameter
from heaplab.screen.notes import note
from heaplab.stats import GateVerdict

FILE_NAME = "bisect.json"
MORE_BUDGETS = (1, 2)  # times the budget: further measuring of a commit that could not be judged
SEEDS = 1000  # added to the seed of a confirmation: more than a campaign has blocks, so no seed is reused
# Experiment, cell and measure: time, instructions, or which memory. A measure stands for its metric because
# the clock that tells the time may differ between gates.
Compared = tuple[str, tuple[tuple[str, Parameter], ...], str]


@dataclass(frozen=True)
class CommitTrial:
    """The result of one commit against another, as it is printed and stored."""

    state: State
    cells: list[dict[str, Any]] = field(default_factory=list)  # as `heaplab gate --json` prints them
    why: str = ""

    @property
    def worse(self) -> set[Compared]:
        cells = [cell for cell in self.cells if cell["verdict"] == GateVerdict.WORSE]
        return {(cell["experiment"], tuple(cell["cell"].items()), cell["measure"]) for cell in cells}


class CommitGate:
    """The gates of one bisection. Results are kept in `folder`, and are not measured again."""

    def __init__(
        self, catalog: Catalog, work: Work, builds: CommitBuilds, old: Commit, options: GateOptions
    ) -> None:
        self._catalog, self._work, self._builds, self._options = catalog, work, builds, options
        self._old = old
        # What a result depends on, beside the work: limits, options of measuring, facts of the machine.
        without_effect, facts = ("output", "quiet", "as_json", "budget", "began"), host.facts()
        how = {name: value for name, value in asdict(options).items() if name not in without_effect}
        machine = {name: facts.get(name) for name in host.SAME_MACHINE}
        question = [str(builds.folder), old.name, asdict(work), [how, machine]]
        self._question = json.loads(json.dumps(question, default=str))
        name = hashlib.sha256(json.dumps(self._question).encode()).hexdigest()[:SHORT]
        self.folder = options.output or DEFAULT_PARENT / "bisect" / name
        self._known = self._read()

    def trial(
        self, base: Commit, commit: Commit, concerned: Collection[Compared] = (), *, afresh: bool = False
    ) -> CommitTrial:
        """The trial of a commit against `base`, in the comparisons `concerned`; in all if these are empty.

        Raises HeaplabError if the base does not build, and Exit if measuring is interrupted.
        """
        name = commit.short if base == self._old else f"{base.short}..{commit.short}"
        name += "-afresh" if afresh else ""
        known = self._known.get(name)
        if known and known.state in (State.WORSE, State.NOT_WORSE):
            return known
        base_tree = self._built(base)
        try:
            outcome = self._measured(base_tree, self._built(commit), self.folder / name, concerned, afresh)
        except HeaplabError as error:
            if isinstance(error, UsageError) and not concerned:
                raise  # the request is wrong, not the commit
            outcome = CommitTrial(State.UNUSABLE, why=str(error))
        self._known[name] = outcome
        every = {name: asdict(cell) for name, cell in self._known.items()}
        content = {"question": self._question, "known": every}
        write_text(self.folder / FILE_NAME, json.dumps(content, indent=2))
        return outcome

    def _built(self, commit: Commit) -> Path:
        if not self._options.quiet and not self._builds.is_built(commit):
            note(f"building {commit.short}: {commit.subject}")
        tree = self._builds.tree(commit)
        if missing := self._work.missing(tree):
            raise CannotBuildError(f"its build leaves no {missing}")
        return tree

    def _measured(
        self, base: Path, tree: Path, folder: Path, concerned: Collection[Compared], afresh: bool
    ) -> CommitTrial:
        options = replace(self._options, output=folder, seed=self._options.seed + (SEEDS if afresh else 0))
        work, limits = self._work, run_gate.limits_of(options)
        given = [work.arm(run_gate.OLD, base), work.arm(run_gate.NEW, tree)]
        program = work.program if work.library is not None else ()
        subject = Subject(program=program, suite=work.suite, source=work.source)
        arms, benchmark = run_gate.compared(self._catalog, given, subject, quiet=True)
        request = request_of(benchmark, arms, options)
        paths, stopped = [folder / store.FILE_NAME], ""
        if work.instructions == ONLY_CALLGRIND or not is_measured(folder, request):
            paths, stopped = run_gate.measured(request, folder, limits, options, WholeBudget(request.budget))
        outcome = judged(paths, limits, concerned)
        for times in MORE_BUDGETS if work.instructions != ONLY_CALLGRIND else ():
            if not stopped and outcome.state is State.COULD_NOT_TELL and not outcome.why:
                note(f"could not tell yet: going on for {times} times the budget")
                longer = auto_budget.measure_longer
                stopped = longer(load(paths[0]), request, times * (options.budget or 0), options, limits)
                outcome = judged(paths, limits, concerned)
        if stopped:
            raise click.exceptions.Exit(1)
        return outcome

    def _read(self) -> dict[str, CommitTrial]:
        """The kept results. Raises UsageError if the folder belongs to another bisection."""
        path = self.folder / FILE_NAME
        if not path.exists():
            return {}
        try:
            kept = json.loads(regular_file.content_of(path))
            question = kept["question"]
            known = {
                name: CommitTrial(**cell | {"state": State(cell["state"])})
                for name, cell in kept["known"].items()
            }
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise UsageError(f"{path}: not a file of heaplab bisect") from error
        if question != self._question:
            raise UsageError(f"{self.folder}: holds another bisection, give another folder with --output")
        return known


def judged(
    paths: Sequence[Path], limits: analysis.GateLimits, concerned: Collection[Compared]
) -> CommitTrial:
    """The verdict on the comparisons `concerned`. A commit with failed runs has no verdict but "worse"."""
    gate = run_gate.judged([load(path) for path in paths], limits)
    cells = [cell for cell in gate.cells if not concerned or compared_in(cell) in concerned]
    outcome = replace(gate, cells=cells).outcome
    if gate.lost and outcome is not analysis.GateOutcome.WORSE:
        return CommitTrial(State.UNUSABLE, why=f"its runs fail: {gate.lost[0].reason}")
    if len(cells) < len(concerned):
        return CommitTrial(State.COULD_NOT_TELL, why="no figure of what is worse in the end")
    return CommitTrial(
        State(outcome),
        [gate_output.plain_cell(ordered_cell) for ordered_cell in gate_output.ordered_cells(cells)],
    )


def compared_in(gate_cell: analysis.GateCell) -> Compared:
    return gate_cell.experiment, gate_cell.cell, gate_cell.measure


def refuse_uncounted(work: Work) -> None:
    """Raise UsageError, as `heaplab gate` does, for a limit on instructions that nothing counts."""
    if work.instructions == COUNTERS and run_gate.is_typed("max_instructions"):
        run_gate.refuse_uncounted([work.arm(run_gate.OLD, Path("/"))], work.program)
