"""Progress on a terminal: the comparison as it stands, the current run, what is done, the most time left."""

import time
from collections.abc import Callable
from typing import Self

import rich.console
import rich.live
import rich.progress
import rich.table

from heaplab.analysis import Analysis
from heaplab.campaign.runner import Progress
from heaplab.comparison.standing import standing
from heaplab.screen.notes import note

REFRESH_S = 0.5  # between two updates during a run
LONG_S = 2.0  # a longer run is shown with its duration so far
ROWS_BESIDE = 4  # of the terminal, that a table leaves to the line and what stands above
BESIDE = 37  # columns left of the description: the bar, and the time left


class ProgressBar:
    """A line that changes, below a table. Shows nothing when quiet or when standard error is no terminal.

    `listen` is called before each run, and `tick` at short intervals during the run. No thread updates the
    line, because heaplab forks while it measures.
    """

    def __init__(
        self,
        quiet: bool,
        budget: float | None,
        console: rich.console.Console | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        console = console or rich.console.Console(stderr=True)
        self._budget = budget
        self._clock = clock
        self._now: Progress | None = None
        self._began = self._shown = 0.0
        self._progress = rich.progress.Progress(
            rich.progress.BarColumn(bar_width=24),
            rich.progress.TextColumn("{task.fields[left]:>9}  {task.description}"),
            console=console,
            auto_refresh=False,
        )
        self._task = self._progress.add_task("", total=None, left="")
        self._console = console
        self._table: rich.table.Table | None = None
        self.is_shown = console.is_terminal and not quiet
        self._live = rich.live.Live(console=console, transient=True, auto_refresh=False)

    def listen(self, progress: Progress) -> None:
        """Show the run that begins now."""
        self._now = progress
        self._began = self._clock()
        self._show(progress)

    def stand(self, measured: Analysis) -> None:
        """Show above the line how the comparison stands."""
        if self.is_shown:
            self._table = standing(measured, self._console.height - ROWS_BESIDE)

    def note(self, line: str) -> None:
        """Print a line that stays."""
        if self.is_shown:
            self._console.print(f"heaplab: {line}", markup=False, highlight=False, soft_wrap=True)
        else:
            note(line)

    def tick(self) -> None:
        """Update the line during a run."""
        if self._now and self._clock() - self._shown >= REFRESH_S:
            self._show(self._now)

    def _show(self, now: Progress) -> None:
        self._shown = self._clock()
        running = self._shown - self._began
        by_budget = self._budget is not None
        self._progress.update(
            self._task,
            description=description(now, running)[: max(20, self._progress.console.width - BESIDE)],
            completed=now.elapsed + running if by_budget else now.finished,
            total=self._budget if by_budget else now.most,
            left=time_left(now.left(running)),
        )
        if self.is_shown:
            shown = [self._table, self._progress] if self._table else [self._progress]
            self._live.update(rich.console.Group(*shown), refresh=True)

    def __enter__(self) -> Self:
        if self.is_shown:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()


def description(progress: Progress, running: float) -> str:
    """The current run; for a long run also its duration so far, and its limit."""
    cell, allocator = progress.candidate
    swept = "".join(f" {name}={value}" for name, value in cell.swept)
    block = "pilot run" if progress.block < 0 else f"block {progress.block + 1}"
    so_far = f" · {running:.0f} of at most {progress.limit:.0f} s" if running >= LONG_S else ""
    return f"{cell.experiment.id}{swept} · {allocator} · {block}{so_far}"


def time_left(seconds: float) -> str:
    if seconds == float("inf"):
        return ""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02} left"
