"""The one table of what is checked: parts, their programs (src/check), and how long a test may take."""

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

from heaplab.catalog import native
from heaplab.errors import HeaplabError

LIST_LIMIT_S = 60


@dataclass(frozen=True)
class Program:
    """A program of src/check. Its tests are its GoogleTest cases, or one for each line of arguments."""

    name: str
    arguments: tuple[str, ...] = ()
    limit_s: int = 60  # of one test
    long: bool = False  # its tests run with --long only
    preloaded: bool = False  # needs a library file: the C library's own malloc has none


@dataclass(frozen=True)
class Part:
    name: str
    shows: str
    programs: tuple[Program, ...]


@dataclass(frozen=True)
class Test:
    """One process: it passes, fails, is skipped or crashes."""

    part: str
    name: str
    command: tuple[str, ...]
    limit_s: int
    preloaded: bool


PARTS = (
    Part("contract", "malloc's family and operator new: C23, POSIX, malloc(3)", (Program("contract"),)),
    Part("exports", "every function comes from the library", (Program("exports"),)),
)
NAMES = tuple(part.name for part in PARTS)


def tests_of(part: Part, long: bool) -> Iterator[Test]:
    """The tests of a part, in the order of the table."""
    for program in part.programs:
        if program.long and not long:
            continue
        file = native.program(f"check_{program.name}")
        if file is None:
            raise HeaplabError(f"check_{program.name}: this build of heaplab has it not")
        for name, arguments in cases(str(file)) if not program.arguments else modes(program):
            yield Test(part.name, name, (str(file), *arguments), program.limit_s, program.preloaded)


def modes(program: Program) -> Iterator[tuple[str, tuple[str, ...]]]:
    for line in program.arguments:
        words = tuple(line.split())
        yield f"{program.name}.{'_'.join(words)}", words


def cases(program: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The GoogleTest cases of a program."""
    done = subprocess.run(
        [program, "--gtest_list_tests"], capture_output=True, text=True, check=True, timeout=LIST_LIMIT_S
    )
    suite = ""
    for line in done.stdout.splitlines():
        if not line.startswith("  "):
            suite = line.split()[0]
            continue
        name = suite + line.split()[0]
        yield name, (f"--gtest_filter={name}",)
