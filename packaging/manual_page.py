"""The manual page on standard output, in the form man(1) takes, from the commands and their help.

`make build` installs it. Example: .venv/bin/python packaging/manual_page.py
"""

import inspect
from collections.abc import Iterator

import click

from heaplab import __version__
from heaplab.commands import commands

SECTION = 1
EXIT_STATUS = {
    "0": "Done.",
    "1": "A run failed, or what was asked for could not be done.",
    "2": "What was asked for makes no sense.",
    "3": "heaplab gate, heaplab budget: something is worse than it may be.",
    "4": "heaplab gate --strict, heaplab bisect: this machine could not tell.",
}


def page(root: click.Context, group: click.Group) -> Iterator[str]:
    yield f'.TH HEAPLAB {SECTION} "" "heaplab {__version__}" "User Commands"'
    yield ".SH NAME"
    yield "heaplab \\- a laboratory for dynamic memory"
    yield ".SH SYNOPSIS"
    yield ".B heaplab\n[\\fIOPTIONS\\fR] \\fICOMMAND\\fR [\\fIARGS\\fR]..."
    yield ".SH DESCRIPTION"
    yield from text_of(group)
    yield from options_of_command(group, root)
    for context, command in commands_of(root, group):
        path = context.command_path
        yield f".SH {path.upper()}"
        yield f".B {path}\n{escaped(' '.join(command.collect_usage_pieces(context)))}\n.PP"
        yield from text_of(command)
        yield from options_of_command(command, context)
    yield ".SH EXIT STATUS"
    for status, says in EXIT_STATUS.items():
        yield f".TP\n.B {status}\n{says}"


def commands_of(outer: click.Context, group: click.Group) -> Iterator[tuple[click.Context, click.Command]]:
    """Every command, and behind a group the commands of the group."""
    for name in group.list_commands(outer):
        command = group.get_command(outer, name)
        assert command
        context = click.Context(command, info_name=name, parent=outer)
        yield context, command
        if isinstance(command, click.Group):
            yield from commands_of(context, command)


def text_of(command: click.Command) -> Iterator[str]:
    """The help as roff. A paragraph that begins with \\b keeps its lines."""
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        if paragraph.startswith("\b"):
            kept = escaped(paragraph[1:].strip("\n"))
            yield f".nf\n{kept}\n.fi\n.PP"
        else:
            yield f"{escaped(paragraph)}\n.PP"


def options_of_command(command: click.Command, context: click.Context) -> Iterator[str]:
    for option in command.get_params(context):
        if isinstance(option, click.Option) and (record := option.get_help_record(context)):
            yield f".TP\n.B {escaped(record[0])}\n{escaped(record[1])}"


def escaped(text: str) -> str:
    """The text with the characters escaped that roff would interpret."""
    lines = text.replace("\\", "\\e").replace("-", "\\-").split("\n")
    return "\n".join(f"\\&{line}" if line.startswith((".", "'")) else line for line in lines)


if __name__ == "__main__":
    click.echo("\n".join(page(click.Context(commands, info_name="heaplab"), commands)))
