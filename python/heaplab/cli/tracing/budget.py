"""`heaplab budget`: fails where a program allocates more than a file that is checked in allows."""

import shlex
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click

from heaplab.budgets import budget_file, budget_output, growth_beyond, what_growth_costs
from heaplab.budgets.budget_file import Budget, Tolerance
from heaplab.budgets.growth_beyond import Beyond
from heaplab.budgets.spending import Spending, spending_of
from heaplab.catalog import contents as catalogs
from heaplab.cli.benchmarks.selection import BASELINE, arm_of, note
from heaplab.cli.options.option_types import OUTPUT_FILE, PLACE
from heaplab.cli.options.program_command import ProgramCommand
from heaplab.cli.screen.step_display import StepDisplay
from heaplab.cli.tracing import record, trace_summary
from heaplab.cli.tracing.trace import PROCESS, summary_and_process
from heaplab.console import console
from heaplab.errors import HeaplabError, UsageError
from heaplab.holders.replaying import Recording
from heaplab.output import write_text
from heaplab.traces.profile import Profile, of_process

OVER = 3  # exit status


@click.command(cls=ProgramCommand)
@click.argument("file", type=PLACE, metavar="FILE.toml")
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="-- PROGRAM [ARGS]...")
@click.option("--update", is_flag=True, help="Write FILE.toml from what PROGRAM allocates now.")
@click.option(
    "--recordings",
    type=click.IntRange(1, 100),
    default=3,
    help="How often PROGRAM is recorded for --update, and else before anything is said to have grown.",
)
@PROCESS
@click.option("--markdown", type=OUTPUT_FILE, help="Write a table for a pull request's comment.")
@click.option("--junit", type=OUTPUT_FILE, help="Write JUnit XML.")
@click.pass_obj
def budget(
    extra: tuple[Path, ...],
    /,
    file: Path,
    program: tuple[str, ...],
    update: bool,
    recordings: int,
    process: int | None,
    markdown: Path | None,
    junit: Path | None,
) -> int:
    """Fail if PROGRAM allocates more than FILE.toml allows; for continuous integration.

    FILE.toml is checked in. It has calls, bytes and peak by thread and call site, and what is tolerated.
    Exit status 3: a call site grew beyond that in each of several recordings; it is named, with whether that
    matters for time or memory, by replay. The last recording is kept beside FILE.toml, as FILE.trace.

    \b
    Examples:
      heaplab budget ls.toml --update -- ls -l
      heaplab budget ls.toml --junit budget.xml -- ls -l
    """
    if file.suffix != ".toml":
        raise UsageError(f"{file}: its suffix is not .toml")
    if not program:
        raise UsageError("budget: name a program behind --")
    if update and (markdown or junit):
        raise UsageError("budget: --update judges nothing: --markdown and --junit go without it")
    if not (update or file.exists()):
        raise UsageError(f"{file}: there is no such file; --update writes it")
    OUTPUT_FILE.refuse_unwritable(file if update else file.with_suffix(".trace"))
    known = budget_file.read(file) if file.exists() else None
    recorded = Recorder(file.with_suffix(".trace"), program, extra, process)
    if update:
        write(file, shlex.join(program), recorded, recordings, known.tolerance if known else Tolerance())
        return 0
    assert known
    found = judged(known, recorded, recordings)
    costs = recorded.cost_of(found) if found else ""
    if markdown:
        text = budget_output.as_markdown(known, found, costs, shlex.join(program))
        markdown.write_text(text, encoding="utf-8")
    if junit:
        budget_output.write_junit(known, found, junit)
    budget_output.print_budget(known, found, costs, console())
    return OVER if found else 0


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
        status = record.with_stacks_in(self.trace, self._program, self._extra, lambda: None)
        if status != 0:
            raise HeaplabError(f"{self._program[0]}: exit status {status}, so that nothing was judged")
        summary, number = summary_and_process(self.trace, self._process)
        for line in trace_summary.warnings(summary):
            note(f"{self.trace}: {line}")
        self._last = of_process(self.trace, summary, number, record.ProgressNote("reading events"))
        return self._last

    def cost_of(self, found: Sequence[Beyond]) -> str:
        """What the growth in the last recording costs, by replay."""
        assert self._last
        with tempfile.TemporaryDirectory(prefix="heaplab-") as folder, StepDisplay("budget") as display:
            display.tell("replaying with the growth and without")
            recording = Recording(self.trace, self._last.process, Path(folder))
            arm = arm_of(catalogs.load(self._extra), BASELINE)
            return what_growth_costs.cost_of(found, self._last, recording, arm)


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
