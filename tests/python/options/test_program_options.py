"""One name of an option has one meaning in all programs: the same kind of value, the same words of help."""

import re
from collections import defaultdict
from pathlib import Path

import click
from laboratory import COMMANDS
from subprocesses import printed_by

from heaplab.machine import native

PROGRAMS = sorted(path for path in (native.root() / "bin").iterdir() if path.is_file())
OPTION = re.compile(r"^  (?:-h,)?--(\S+)(?: ([A-Z:]+))?\s+(.+)$", re.MULTILINE)
# The range and the default differ between programs, the meaning does not.
FACTS = re.compile(r" \([^()]*default [^()]*\)$| \([^()]* to [^()]*\)$")
# What click and CLI11 say of themselves, and --json: a flag of heaplab, and a file of a workload.
OF_THE_LIBRARIES = {"help", "version", "json"}


def described(program: Path) -> dict[str, tuple[str, str]]:
    """Kind and help of every option of a program, by name."""
    # The words on an option too long for its column stand in the next line.
    folded = re.sub(r"(?<=[A-Z])\n {20,}", "  ", printed_by(program, "--help"))
    return {
        name.removeprefix("[no-]"): ("flag" if name.startswith("[no-]") else kind, FACTS.sub("", words))
        for name, kind, words in OPTION.findall(folded)
    }


def of_commands() -> dict[str, dict[str, tuple[str, str]]]:
    """Kind and help of every option of heaplab's commands, by name and command."""
    found: dict[str, dict[str, tuple[str, str]]] = defaultdict(dict)
    for command, definition in COMMANDS.items():
        for option in definition.params:
            if isinstance(option, click.Option):
                name = max(option.opts, key=len).removeprefix("--")
                found[name][command] = (option.type.name, (option.help or "").partition("  [default")[0])
    return found


def of_programs() -> dict[str, dict[str, tuple[str, str]]]:
    found: dict[str, dict[str, tuple[str, str]]] = defaultdict(dict)
    for program in PROGRAMS:
        for name, meaning in described(program).items():
            found[name][program.name] = meaning
    return found


def several(found: dict[str, dict[str, tuple[str, str]]]) -> dict[str, dict[str, tuple[str, str]]]:
    return {name: users for name, users in found.items() if len(set(users.values())) > 1}


def test_the_programs_are_asked() -> None:
    assert len(PROGRAMS) > 20
    for program in PROGRAMS:
        assert {"seed", "json", "estimate", "counters"} <= described(program).keys(), program


def test_an_option_means_the_same_in_every_program() -> None:
    found = of_programs()
    for name in ("operations", "subsystems", "least-size"):
        del found[name]["dimensions"]  # as in the papers: each is a level of one of its five dimensions
    assert several(found) == {}


def test_an_option_means_the_same_in_every_command() -> None:
    found = of_commands()
    del found["json"]  # prints what the command prints, as JSON
    del found["output"]  # a folder where results are made, a file where they are read
    del found["budget"]  # a gate may also choose it by itself
    del found["for"]  # how long a recording takes, or a look
    del found["all"]  # allocators of the catalog, or commits of a history
    del found["update"]  # what a gate compares with, or what a program may allocate
    del found["sample"], found["ask"]  # as record and look, within what `watch` shows
    assert several(found) == {}


def test_a_name_that_heaplab_and_a_program_share_means_the_same() -> None:
    commands, programs = of_commands(), of_programs()
    # malloc_trim is called in the program, or in the process that is looked at. Plans and caches have shards.
    # What lives apart is said by `advise`, and what serves it by `replay`.
    for name in commands.keys() & programs.keys() - OF_THE_LIBRARIES - {"trim", "shards", "apart"}:
        words = {text.rstrip(".") for users in (commands, programs) for _, text in users[name].values()}
        assert len(words) == 1, (name, words)
