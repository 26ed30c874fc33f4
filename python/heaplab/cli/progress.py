"""Progress on a terminal: what runs now, how much is done, how long it will take at most."""

from types import TracebackType
from typing import Self

import rich.progress
from rich.console import Console

from heaplab.campaign.runner import Progress


class Bar:
    """One line that changes. Shows nothing when quiet or when standard error is no terminal."""

    def __init__(self, quiet: bool, budget: float | None) -> None:
        console = Console(stderr=True)
        self._budget = budget
        self._progress = rich.progress.Progress(
            rich.progress.BarColumn(bar_width=24),
            rich.progress.TextColumn("{task.fields[left]:>9}  {task.description}"),
            console=console,
            disable=quiet or not console.is_terminal,
            transient=True,
        )
        self._task = self._progress.add_task("", total=None, left="")

    def listen(self, progress: Progress) -> None:
        cell, allocator = progress.candidate
        swept = " ".join(f"{name}={value}" for name, value in cell.swept)
        what = f"{cell.experiment.id} {swept} · {allocator} · block {progress.block + 1}"
        by_budget = self._budget is not None
        self._progress.update(
            self._task,
            description=what[: max(20, self._progress.console.width - 40)],
            completed=progress.elapsed if by_budget else progress.finished,
            total=self._budget if by_budget else progress.most,
            left=time_left(progress.remaining),
        )

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()


def time_left(seconds: float) -> str:
    if seconds == float("inf"):
        return ""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02} left"
