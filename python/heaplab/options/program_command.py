"""How a command takes a program: behind all options, with or without `--`."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from heaplab.errors import UsageError
from heaplab.traces import SAMPLE, TRACE, TWIN

TYPED = "heaplab.typed"  # key in a context's `meta`: the options as the user typed them, by parameter


class ProgramCommand(click.Command):
    """A command about a program, which comes last: `[--] PROGRAM [ARGS]...`, in the parameter `program`.

    `groups` has the names of parameters by heading of the help.
    """

    def __init__(self, *args: Any, groups: Mapping[str, Sequence[str]] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._groups = groups or {}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if not self._groups:
            super().format_options(ctx, formatter)
            return
        options = {
            get_param.name: get_param
            for get_param in self.get_params(ctx)
            if isinstance(get_param, click.Option)
        }
        for heading, names in self._groups.items():
            with formatter.section(heading):
                records = [options[name].get_help_record(ctx) for name in names]
                formatter.write_dl([record for record in records if record])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Remove `--`, and refuse `--` at the end: an unset variable must not select the whole suite."""
        dashes = args[-1:] == ["--"]
        ctx.meta[TYPED], _, _ = self.make_parser(ctx).parse_args(list(args))
        rest = super().parse_args(ctx, args)
        program = ctx.params["program"] or ()
        ctx.params["program"] = program = program[1:] if program[:1] == ("--",) else program
        if dashes and not program:
            raise UsageError(f"{self.name}: there is no program behind --")
        if program[:1] == ("",):
            raise UsageError(f"{self.name}: the name of the program is empty")
        return rest


class ProgramOrTraceCommand(ProgramCommand):
    """A command about a program or a trace. Options may stand before and behind a trace."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        trace, options = file_and_options(self, ctx, args, (TRACE, SAMPLE, TWIN))
        return super().parse_args(ctx, [*options, trace] if trace else args)


def file_and_options(
    command: click.Command, ctx: click.Context, args: list[str], suffix: str | tuple[str, ...]
) -> tuple[str, list[str]]:
    """The file with this suffix in place of a program, and all other words; "" if there is no such file.

    Behind `--` stands a program, whatever its suffix.
    """
    typed, _, _ = command.make_parser(ctx).parse_args(list(args))
    words = typed["program"]
    file, *behind = words if isinstance(words, tuple) and words else ("",)
    if not file.endswith(suffix) or "--" in args:
        return "", args
    return file, [*args[: len(args) - len(behind) - 1], *behind]
