"""`heaplab manual` and `heaplab completion`: the manual page and the shell's completion.

Both are generated from the commands and their help. `make build` installs them.
"""

import inspect
from collections.abc import Iterator

import click
from click.shell_completion import get_completion_class

from heaplab.errors import UsageError
from heaplab.version import __version__

SHELLS = ("bash", "zsh", "fish")
SECTION = 1
EXIT_STATUS = {
    "0": "Done.",
    "1": "A run failed, or what was asked for could not be done.",
    "2": "What was asked for makes no sense.",
    "3": "heaplab gate, heaplab budget: something is worse than it may be.",
    "4": "heaplab gate --strict, heaplab bisect: this machine could not tell.",
}


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print what makes SHELL complete the words of heaplab.

    It belongs in ~/.local/share/bash-completion/completions/heaplab for bash, in a folder of $fpath as
    _heaplab for zsh, in ~/.config/fish/completions/heaplab.fish for fish.

    \b
    Example:
      heaplab completion bash
    """
    made = get_completion_class(shell)
    if made is None:
        raise UsageError(f"no completion for {shell}")
    click.echo(made(context.find_root().command, {}, "heaplab", "_HEAPLAB_COMPLETE").source(), nl=False)


@click.command()
@click.pass_context
def manual(context: click.Context) -> None:
    """Print the manual page, in the form man(1) takes; ~/.local/share/man/man1/heaplab.1 is where it belongs.

    \b
    Example:
      heaplab manual
    """
    root = context.find_root()
    assert isinstance(root.command, click.Group)
    click.echo("\n".join(page(root, root.command)))


def page(root: click.Context, group: click.Group) -> Iterator[str]:
    yield f'.TH HEAPLAB {SECTION} "" "heaplab {__version__}" "User Commands"'
    yield ".SH NAME"
    yield "heaplab \\- a laboratory for dynamic memory"
    yield ".SH SYNOPSIS"
    yield ".B heaplab\n[\\fIOPTIONS\\fR] \\fICOMMAND\\fR [\\fIARGS\\fR]..."
    yield ".SH DESCRIPTION"
    yield from text_of(group)
    yield from options_of_command(group, root)
    for name in group.list_commands(root):
        command = group.get_command(root, name)
        if command:
            inner = click.Context(command, info_name=name, parent=root)
            yield f".SH HEAPLAB {name.upper()}"
            yield f".B heaplab {name}\n{escaped(' '.join(command.collect_usage_pieces(inner)))}\n.PP"
            yield from text_of(command)
            yield from options_of_command(command, inner)
    yield ".SH EXIT STATUS"
    for status, says in EXIT_STATUS.items():
        yield f".TP\n.B {status}\n{says}"


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
