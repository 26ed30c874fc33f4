"""Every command explains itself, and the examples it gives can be typed."""

import re
import shlex
from pathlib import Path

import click
import pytest
from laboratory import COMMANDS, example_lines

from heaplab.catalog import contents as catalogs
from heaplab.commands import compare
from heaplab.options.program_command import ProgramCommand

CATALOG = catalogs.load()
SCREEN = 40  # lines
ALLOCATORS = set(CATALOG.allocator_names())


def examples(command: click.Command) -> list[list[str]]:
    """The words after `heaplab` of every example in the help of a command."""
    found = re.findall(r"\$\(heaplab ([^)]+)\)|heaplab (.+)", "\n".join(example_lines(command)))
    return [shlex.split(inner or line) for inner, line in found]


ALL = [(name, words) for name, command in COMMANDS.items() for words in examples(command)]


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_gives_an_example_of_itself(name: str) -> None:
    assert any(words[: len(name.split())] == name.split() for owner, words in ALL if owner == name)


@pytest.mark.parametrize(("_owner", "words"), ALL)
def test_an_example_can_be_typed(_owner: str, words: list[str]) -> None:
    name = " ".join(words[: 2 if words[0] == "cluster" else 1])
    with COMMANDS[name].make_context(name, words[len(name.split()) :]) as context:
        given = context.params
    if words[0] == "compare" and given["experiments"]:
        assert CATALOG.experiments_matching([name for names in given["experiments"] for name in names])
    if words[0] in ("get", "with", "path"):
        names = given["names"] if "names" in given else [given["name"]]
        assert set(names) <= ALLOCATORS | {own.name for own in given.get("own", ())}
    if asked := given.get("allocators"):
        assert set(asked.split(",")) <= ALLOCATORS


def test_the_help_of_compare_has_groups_and_fits_two_screens() -> None:
    command = COMMANDS["compare"]
    assert isinstance(command, ProgramCommand)
    told = command.get_help(click.Context(command, info_name="heaplab compare", terminal_width=100))
    assert len(told.splitlines()) <= 2 * SCREEN
    options = [option for option in command.params if isinstance(option, click.Option)]
    assert re.findall(r"^(\S.*):$", told, re.MULTILINE) == list(compare.GROUPS)
    told_of = set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", told, re.MULTILINE))
    assert told_of == {option.opts[-1] for option in options}


def test_a_command_is_a_file_of_at_most_a_hundred_lines() -> None:
    files = Path(compare.__file__).parent.glob("*.py")
    assert [path.name for path in files if len(path.read_text().splitlines()) > 100] == []


def test_options_of_every_command_are_explained() -> None:
    for command in COMMANDS.values():
        for option in command.params:
            assert not isinstance(option, click.Option) or option.help


def test_every_option_has_the_question_that_needs_it() -> None:
    page = (Path(__file__).parents[3] / "docs/decisions/0049-options-of-the-command-line.md").read_text()
    asked = set(re.findall(r"`(?:\w+ )*(--?[\w-]+)`", page))
    options = {
        (name, *option.opts)
        for name, command in COMMANDS.items()
        for option in command.params
        if isinstance(option, click.Option)
    }
    assert [option for option in sorted(options) if not asked & set(option[1:])] == []
