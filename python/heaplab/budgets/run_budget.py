"""What `heaplab budget` does: records the program and compares with the file; or writes the file."""

import shlex
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from heaplab.advise.replaying import Recording
from heaplab.budgets import budget_file, budget_output, growth_beyond, what_growth_costs
from heaplab.budgets.budget_file import Budget, Tolerance
from heaplab.budgets.growth_beyond import Beyond
from heaplab.budgets.spending import Spending, spending_of
from heaplab.catalog import contents as catalogs
from heaplab.errors import HeaplabError, UsageError
from heaplab.files.output import write_text
from heaplab.options.chosen_arms import BASELINE, arm_of
from heaplab.options.option_types import OUTPUT_FILE
from heaplab.screen.console import console
from heaplab.screen.notes import note
from heaplab.screen.step_display import StepDisplay
from heaplab.traces.profile import Profile, of_process
from heaplab.tracing import run_record, trace_summary
from heaplab.tracing.progress_note import ProgressNote
from heaplab.tracing.run_trace import summary_and_process

OVER = 3  # exit status


@dataclass(frozen=True)
class BudgetOptions:
    """What is done with the file, and what is written besides."""

    update: bool
    recordings: int
    process: int | None  # None: the one with the most events
    markdown: Path | None
    junit: Path | None


def budget(extra: tuple[Path, ...], file: Path, program: tuple[str, ...], options: BudgetOptions) -> int:
    """Write the file, or judge the program by it; return the exit status."""
    if file.suffix != ".toml":
        raise UsageError(f"{file}: its suffix is not .toml")
    if not program:
        raise UsageError("budget: name a program behind --")
    if options.update and (options.markdown or options.junit):
        raise UsageError("budget: --update judges nothing: --markdown and --junit go without it")
    if not (options.update or file.exists()):
        raise UsageError(f"{file}: there is no such file; --update writes it")
    OUTPUT_FILE.refuse_unwritable(file if options.update else file.with_suffix(".trace"))
    known = budget_file.read(file) if file.exists() else None
    recorded = Recorder(file.with_suffix(".trace"), program, extra, options.process)
    if options.update:
        tolerance = known.tolerance if known else Tolerance()
        write(file, shlex.join(program), recorded, options.recordings, tolerance)
        return 0
    assert known
    excesses = judged(known, recorded, options.recordings)
    costs = recorded.cost_of(excesses) if excesses else ""
    if options.markdown:
        text = budget_output.as_markdown(known, excesses, costs, shlex.join(program))
        options.markdown.write_text(text, encoding="utf-8")
    if options.junit:
        budget_output.write_junit(known, excesses, options.junit)
    budget_output.print_budget(known, excesses, costs, console())
    return OVER if excesses else 0


class Recorder:
    """Records the program, each time into the same file."""

    def __init__(
        self, trace: Path, program: tuple[str, ...], extra: tuple[Path, ...], process: int | None
    ) -> None:
        self.trace = trace
        self._program, self._extra, self._process = program, extra, process
        self._last: Profile | None = None

    def profile(self) -> Profile:
        """Record the program; return its profile. Raises HeaplabError if the program fails."""
        status = run_record.with_stacks_in(self.trace, self._program, self._extra, lambda: None)
        if status != 0:
            raise HeaplabError(f"{self._program[0]}: exit status {status}, so that nothing was judged")
        summary, number = summary_and_process(self.trace, self._process)
        for line in trace_summary.warnings(summary):
            note(f"{self.trace}: {line}")
        self._last = of_process(self.trace, summary, number, ProgressNote("reading events"))
        return self._last

    def cost_of(self, excesses: Sequence[Beyond]) -> str:
        """What the growth in the last recording costs, by replay."""
        assert self._last
        with tempfile.TemporaryDirectory(prefix="heaplab-") as folder, StepDisplay("budget") as display:
            display.tell("replaying with the growth and without")
            recording = Recording(self.trace, self._last.process, Path(folder))
            arm = arm_of(catalogs.load(self._extra), BASELINE)
            return what_growth_costs.cost_of(excesses, self._last, recording, arm)


def write(file: Path, program: str, recorded: Recorder, runs: int, tolerance: Tolerance) -> None:
    spendings = [spending_of(recorded.profile()) for _ in range(runs)]
    made = budget_file.made_of(program, spendings, tolerance)
    write_text(file, budget_file.text_of(made, file.name))
    note(f"written: {file}, with {len(made.sites)} call sites")


def judged(budget: Budget, recorded: Recorder, most_runs: int) -> list[Beyond]:
    """What is beyond the budget in every run; recording ends with the first run in which nothing is."""
    runs: list[list[Beyond]] = []
    while len(runs) < most_runs:
        spending: Spending = spending_of(recorded.profile())
        runs.append(growth_beyond.beyond(budget, spending))
        if not growth_beyond.in_each(runs):
            return []
    return growth_beyond.in_each(runs)
