"""The options of `heaplab advise --local`."""

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import click

from heaplab.errors import UsageError

Decorator = Callable[[Any], Any]
# Parameters of the command that go only with --local, and only without.
WITH, WITHOUT = ("subsystems", "patch"), ("apart", "pace", "budget", "trim_every")
OPTIONS: tuple[Decorator, ...] = (
    click.option(
        "--local",
        is_flag=True,
        help="Instead: tell whether a local allocator of C++ would pay, where, and what forbids it.",
    ),
    click.option(
        "--subsystem",
        "subsystems",
        multiple=True,
        metavar="TEXT",
        help="With --local: look at the call sites below functions, namespaces or files that hold TEXT.  "
        "[default: found]",
    ),
    click.option("--patch", is_flag=True, help="With --local: print the change as C++."),
)


def local_options(command: Any) -> Any:
    """Give a command the options."""
    return reduce(lambda made, option: option(made), reversed(OPTIONS), command)


def without_mixtures(local: bool, given: Mapping[str, Any]) -> dict[str, Any]:
    """The options that go with --local, or without it. Raises UsageError if another has a value."""
    others = WITHOUT if local else WITH
    for name in others:
        if given[name]:
            option = f"--{name.removesuffix('s').replace('_', '-')}"
            raise UsageError(f"{option} goes {'without' if local else 'with'} --local")
    return {name: value for name, value in given.items() if name not in others}
