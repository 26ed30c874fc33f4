"""Arms that are commands: two binaries, versions or branches, each with the malloc that it brings.

heaplab preloads nothing into a command and looks at none of its mapped files. So nothing is claimed about the
malloc that served the command.
"""

import hashlib
import os
import shlex
from collections.abc import Sequence

from heaplab.errors import UsageError
from heaplab.files import regular_file
from heaplab.machine import interposition, native, setting_proof
from heaplab.options.arm_options import GivenCommand, Settings
from heaplab.results.records import CONTROL_SUFFIX, Arm


def refuse_others(commands: Sequence[GivenCommand], others: bool) -> None:
    """Raise UsageError for a single command, a name given twice, or commands beside other arms."""
    if others:
        raise UsageError("--arm compares commands: give no program, suite or allocator beside it")
    if len(commands) < 2:
        raise UsageError("--arm: one command is compared with nothing; give two")
    names = [given.name for given in commands]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise UsageError(f"--arm {twice}=...: the name is taken, choose another")


def again(arm: Arm) -> Arm:
    """The arm of a recorded command, with the program as it is on this machine now."""
    settings = Settings(arm.environment, arm.huge_pages)
    return arm_of_command(GivenCommand(arm.allocator, tuple(arm.command), settings))


def arm_of_command(given: GivenCommand) -> Arm:
    """The arm of a command. Raises UsageError for a program that is not on this machine."""
    if CONTROL_SUFFIX in given.name:
        raise UsageError(f"--arm {given.name}=...: the name is taken, choose another")
    path = interposition.resolve_program(given.words[0], os.environ)
    with regular_file.opened(path) as program:
        digest = hashlib.file_digest(program, "sha256").hexdigest()
    return setting_proof.proved(
        Arm(
            allocator=given.name,
            title=shlex.join(given.words),
            version="",
            preload=[],
            environment=given.settings.environment,
            beside=native.beside(given.settings.environment),
            huge_pages=given.settings.huge_pages,
            sha256={str(path): digest},
            build_id={},
            command=list(given.words),
        )
    )
