"""The steps of work that takes seconds to minutes, with the time taken so far, on standard error."""

import time
from typing import Self

import click
import rich.console
import rich.progress


class StepDisplay:
    """On a terminal one line that changes, elsewhere a line for each step. A context manager."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._began = time.monotonic()
        console = rich.console.Console(stderr=True)
        self._line = rich.progress.Progress(
            rich.progress.SpinnerColumn(),
            rich.progress.TimeElapsedColumn(),
            rich.progress.TextColumn("{task.description}", markup=False),
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )
        self._task = self._line.add_task(name, total=None)

    def tell(self, step: str) -> None:
        """Name the step that begins now."""
        self._line.update(self._task, description=f"{self._name}: {step}")
        if self._line.disable:
            click.echo(f"{self._name}: {step} ({time.monotonic() - self._began:.0f} s)", err=True)

    def note(self, line: str) -> None:
        """Print a line that stays on the terminal."""
        if self._line.disable:
            click.echo(line, err=True)
        else:
            self._line.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def __enter__(self) -> Self:
        self._line.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._line.stop()
