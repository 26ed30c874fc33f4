"""How a command takes a program: behind all options, with or without `--`."""

import click

from heaplab.errors import UsageError

TRACE = ".trace"  # the suffix of traces
TYPED = "heaplab.typed"  # in a context: the options as they were typed, by parameter


class ProgramCommand(click.Command):
    """A command about a program, which comes last: `[--] PROGRAM [ARGS]...`, in the parameter `program`."""

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
    """The same, or about a trace: options may stand before and behind a trace, which takes no arguments."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        typed, _, _ = self.make_parser(ctx).parse_args(list(args))
        found = typed["program"]
        trace, *behind = found if isinstance(found, tuple) and found else ("",)
        if trace.endswith(TRACE) and "--" not in args:
            before = args[: len(args) - len(behind) - 1]
            return super().parse_args(ctx, [*before, *behind, trace])
        return super().parse_args(ctx, args)
