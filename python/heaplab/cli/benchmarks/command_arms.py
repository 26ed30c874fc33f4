"""Arms that are commands: two binaries, versions or branches, each with the malloc that is compiled into it.

heaplab preloads nothing into a command and looks at none of its mapped files, so it claims nothing about
which malloc served it.
"""

import hashlib
import os
import shlex
from collections.abc import Sequence

from heaplab.cli.options.arm_options import GivenCommand, Settings
from heaplab.errors import UsageError
from heaplab.machine import interposition, setting_proof
from heaplab.records import CONTROL_SUFFIX, Arm


def refuse_others(commands: Sequence[GivenCommand], others: bool) -> None:
    """Raise UsageError for one command alone, a name given twice, or something else to compare."""
    if others:
        raise UsageError("--arm compares commands: give no program, suite or allocator beside it")
    if len(commands) < 2:
        raise UsageError("--arm: one command is compared with nothing; give two")
    names = [given.name for given in commands]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise UsageError(f"--arm {twice}=...: the name is taken, choose another")


def arms_of(commands: Sequence[GivenCommand]) -> list[Arm]:
    """The arms, the first as the baseline. Raises UsageError for a program that is not here."""
    return [arm_of_command(given) for given in commands]


def again(arm: Arm) -> Arm:
    """The arm of a recorded command, as it is here now."""
    settings = Settings(arm.environment, arm.huge_pages)
    return arm_of_command(GivenCommand(arm.allocator, tuple(arm.command), settings))


def arm_of_command(given: GivenCommand) -> Arm:
    if CONTROL_SUFFIX in given.name:
        raise UsageError(f"--arm {given.name}=...: the name is taken, choose another")
    path = interposition.resolve_program(given.words[0], os.environ)
    return setting_proof.proved(
        Arm(
            allocator=given.name,
            title=shlex.join(given.words),
            version="",
            preload=[],
            environment=given.settings.environment,
            huge_pages=given.settings.huge_pages,
            sha256={str(path): hashlib.sha256(path.read_bytes()).hexdigest()},
            build_id={},
            command=list(given.words),
        )
    )
