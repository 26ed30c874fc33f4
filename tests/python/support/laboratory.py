"""heaplab as a test calls it, and what it left."""

import contextlib
import io
import re
import sys
from pathlib import Path

import click
import pytest

from heaplab import cli
from heaplab.campaign import store
from heaplab.records import Run, Status

CONTEXT = click.Context(cli.commands)
COMMANDS = {name: cli.commands.get_command(CONTEXT, name) for name in cli.commands.list_commands(CONTEXT)}


def example_lines(command: click.Command) -> list[str]:
    """The examples in the help of a command, each in one line."""
    told = (command.help or "").partition("Example")[2].partition("\n")[2]
    return [line.strip() for line in re.sub(r"\\\n\s*", "", told).splitlines() if line.strip()]


WARM = ["--warm", "64KiB", "-q"]


def call(*words: object) -> tuple[int, str]:
    """Call heaplab; return exit status and everything printed."""
    printed = io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
    ):
        patch.setattr(sys, "argv", ["heaplab", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
    return ended.value.code, printed.getvalue()


class Laboratory:
    """Calls heaplab and reads what it left."""

    def __init__(self, catalog: Path, libraries: dict[str, Path], out: Path) -> None:
        self.catalog = catalog
        self.out = out
        self.own = [word for name, path in libraries.items() for word in ("--allocator", f"{name}={path}")]

    def heaplab(self, *words: object) -> tuple[int, str]:
        """Return exit status and everything printed."""
        return call("--catalog", self.catalog, *words)

    def run(self, *words: object) -> tuple[int, str]:
        return self.heaplab("run", "fake/one", *self.own, *WARM, "-o", self.out, *words)

    def results(self) -> store.Results:
        return store.load(self.out)

    def good(self, allocator: str) -> list[Run]:
        return [r for r in self.results().runs if r.allocator == allocator and r.status is Status.OK]
