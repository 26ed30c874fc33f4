"""What each commit of a bisection is measured on."""

import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from heaplab.errors import UsageError
from heaplab.options.arm_options import GivenAllocator, GivenCommand, command_of
from heaplab.options.measuring_options import refuse_program_beside_suite

TREE = "{tree}"  # stands for the tree of the commit in the words of a program


@dataclass(frozen=True)
class Work:
    """A program that each commit builds; or a program or suite under the library that each commit builds."""

    program: tuple[str, ...]
    library: str | None
    suite: str | None
    source: Path | None
    instructions: str

    def __post_init__(self) -> None:
        """Raise UsageError for work that is the same for every commit."""
        refuse_program_beside_suite(self.program, self.suite)
        if self.library is not None:
            if not self.library or Path(self.library).is_absolute():
                raise UsageError(
                    f"--library {self.library!r}: give a path within the tree of a commit, such as libmine.so"
                )
        elif self.suite is not None:
            raise UsageError("--suite goes with --library: the workloads run under what each commit builds")
        elif not self.program:
            raise UsageError("bisect: give what a commit builds: --library FILE, or -- PROGRAM ARGS")
        else:
            here, there = (self.command("", Path(name)) for name in ("/here", "/there"))
            if here == there:
                first = here.words[0]
                raise UsageError(
                    f"bisect: {first} is the same for every commit; name a program in the tree, such as "
                    f"./{Path(first).name}, use {TREE}, or give --library"
                )

    def command(self, name: str, tree: Path) -> GivenCommand:
        words = [word.replace(TREE, str(tree)) for word in self.program]
        try:
            given = command_of(name, words)
        except ValueError as error:
            raise UsageError(f"bisect: {error}") from None
        first = given.words[0]
        is_within_tree = "/" in first and not first.startswith("/")
        return replace(given, words=(str(tree / first), *given.words[1:])) if is_within_tree else given

    def arm(self, name: str, tree: Path) -> GivenAllocator | GivenCommand:
        if self.library is None:
            return self.command(name, tree)
        return GivenAllocator(name, str(tree / self.library))

    def missing(self, tree: Path) -> str:
        """The file that the build of the tree did not make; "" if it is there."""
        if self.library is not None:
            return "" if (tree / self.library).is_file() else self.library
        program = self.command("", tree).words[0]
        return "" if shutil.which(program) else program.removeprefix(f"{tree}/")
