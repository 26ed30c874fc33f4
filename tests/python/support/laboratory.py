"""heaplab as a test calls it, and what it left."""

import contextlib
import io
import math
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click
import pytest

from heaplab import commands
from heaplab.machine import host
from heaplab.results import store
from heaplab.results.records import Run, Status

Call = Callable[..., tuple[int, str]]  # of heaplab: its words lead to exit status and everything printed


def commands_of(group: click.Group, name: str = "") -> Iterator[tuple[str, click.Command]]:
    """Every command with its words, also those within a group: "cluster plan"."""
    context = click.Context(group)
    for word in group.list_commands(context):
        command = group.get_command(context, word)
        assert command
        yield f"{name}{word}", command
        if isinstance(command, click.Group):
            yield from commands_of(command, f"{word} ")


COMMANDS = dict(commands_of(commands.commands))


def example_lines(command: click.Command) -> list[str]:
    """The examples in the help of a command, each in one line."""
    told = (command.help or "").partition("Example")[2].partition("\n")[2]
    return [line.strip() for line in re.sub(r"\\\n\s*", "", told).splitlines() if line.strip()]


# Less than a page is not warmed: to fork the process of the tests takes longer than most runs here.
WARM = ["--warm", "1B", "-q"]


def status_of(words: Sequence[object], out: io.StringIO, err: io.StringIO) -> int:
    """Call heaplab, for which this machine is quiet: other tests beside it would have each run repeated."""
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        patch.setattr(sys, "argv", ["heaplab", *map(str, words)])
        patch.setattr(host, "foreign_limit", lambda _wall: math.inf)
        with pytest.raises(SystemExit) as ended:
            commands.main()
    return ended.value.code or 0


def call(*words: object) -> tuple[int, str]:
    """Call heaplab; return exit status and everything printed."""
    printed = io.StringIO()
    return status_of(words, printed, printed), printed.getvalue()


def called(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    """What heaplab would have left as a process of its own in a folder, without the start of one."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(folder):
        status = status_of(words, out, err)
    return subprocess.CompletedProcess(words, status, out.getvalue(), err.getvalue())


def success(done: tuple[int, str], expected: int = 0) -> str:
    """Everything that heaplab printed, with this exit status."""
    status, printed = done
    assert status == expected, printed
    return printed


def failure(done: tuple[int, str]) -> str:
    """Everything that heaplab printed, with exit status 1."""
    return success(done, 1)


def refusal(done: tuple[int, str]) -> str:
    """The line in which heaplab refuses what it was called for, with exit status 2."""
    status, printed = done
    assert (status, printed.count("\n")) == (2, 1), printed
    assert printed.startswith("heaplab: ")
    return printed


def cut_off(file: Path, keep: int) -> bytes:
    """Leave the first lines of a file, all but the last ones where negative; return them."""
    kept = b"".join(file.read_bytes().splitlines(keepends=True)[:keep])
    file.write_bytes(kept)
    return kept


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
        return self.heaplab("compare", "--experiment", "fake/one", *self.own, *WARM, "-o", self.out, *words)

    def results(self) -> store.Results:
        return store.load(self.out)

    def good(self, allocator: str) -> list[Run]:
        return [r for r in self.results().runs if r.allocator == allocator and r.status is Status.OK]
