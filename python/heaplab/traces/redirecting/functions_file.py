"""The file that tells the recorder which functions to redirect (src/recorder/redirection.h)."""

import struct
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from heaplab.errors import UsageError
from heaplab.machine import native
from heaplab.machine.coverage.compiled_in import mallocs_in
from heaplab.text import units
from heaplab.traces.redirecting.allocation_functions import FAMILIES, OF_RUST, known, plain, shape_of
from heaplab.traces.redirecting.symbol_table import CodeOf, functions_in

FILE, FAULT = "functions", "not-redirected"  # in the folder of a recording; the second is the recorder's
MAGIC = 0x3172696465726568
HEADER = struct.Struct("<QQQQ")  # magic, device, inode, count
FUNCTION = struct.Struct("<Q16B56s24s")
NONE = 255
# Numbers of kinds, docs/trace-format.md; of a resize, of the release and of the acquisition.
ACQUIRE, RELEASE, RESIZE = 0, 1, 2
ACQUISITIONS = (
    *("malloc", "calloc", "realloc_to", "posix_memalign", "aligned_alloc", "memalign", "valloc", "pvalloc"),
    *("new", "new[]", "new_nothrow", "new[]_nothrow"),
)
RELEASES = (
    *("free", "free_sized", "free_aligned_sized", "realloc_from"),
    *("delete", "delete[]", "delete_sized", "delete[]_sized"),
)
KINDS = {
    **{name: (ACQUIRE, number, 0) for number, name in enumerate(ACQUISITIONS, 1)},
    **{name: (RELEASE, number, 0) for number, name in enumerate(RELEASES, 32)},
    "realloc": (RESIZE, 35, 3),
    "reallocarray": (RESIZE, 40, 13),
}
MEANINGS = ("block", "size", "count", "alignment", "flags")


@dataclass(frozen=True)
class Redirected:
    """A function, what it does, and how its first instructions run elsewhere."""

    of: CodeOf
    shape: str
    replaced: int
    code: bytes
    displacements: tuple[int, ...]

    def packed(self) -> bytes:
        kinds, *arguments = self.shape.split()
        small, _, large = kinds.partition("/")
        act, kind, grown = KINDS[large or small]
        least = grown or KINDS[small][1]
        places = (arguments.index(name) if name in arguments else NONE for name in MEANINGS)
        moved = (self.replaced, len(self.code), len(self.displacements))
        displacements = (*self.displacements, 0, 0, 0)[:3]
        return FUNCTION.pack(
            self.of.start,
            *(act, kind, grown, least),
            *places,
            "result" in arguments,
            *moved,
            *displacements,
            self.code,
            self.of.code[: self.replaced],
        )


@dataclass(frozen=True)
class Redirection:
    """What is redirected in a program."""

    program: Path | None  # None: addresses are those of a process
    titles: tuple[str, ...]  # of the mallocs
    functions: tuple[Redirected, ...]
    faults: tuple[str, ...]  # functions that are not, and why

    def write(self, folder: Path) -> None:
        status = self.program.stat() if self.program else None
        identity = (status.st_dev, status.st_ino) if status else (0, 0)
        header = HEADER.pack(MAGIC, *identity, len(self.functions))
        (folder / FILE).write_bytes(header + b"".join(each.packed() for each in self.functions))

    def fault_in(self, folder: Path) -> str:
        """Why the recorder could not redirect them, in words; "" if it did."""
        fault = folder / FAULT
        return fault.read_text() if fault.exists() else ""

    def sentences(self) -> list[str]:
        """What of the program's own malloc is recorded, for people."""
        name, malloc = self.program.name if self.program else "", " and ".join(self.titles)
        functions = units.counted(len(self.functions), "function", "functions")
        said = f"{name}: {malloc} in it: {functions} recorded"
        return [said, *(f"{name}: not recorded: {fault}" for fault in self.faults)]


def redirection_of(program: Path, names: Sequence[str]) -> Redirection | None:
    """What is to be redirected in a program: functions that the user names, or those of a malloc in its file.

    None: its file shows no malloc. Raises UsageError.
    """
    shapes = named(names) if names else known()
    functions = functions_in(program, shapes, OF_RUST)
    if names:
        if missing := [name for name in shapes if name not in {plain(each.name) for each in functions}]:
            raise UsageError(f"{program.name} has no function {missing[0]} in its table of symbols")
        titles, wanted = ["functions that you name"], functions
    else:
        titles, wanted = present(functions)
    if not wanted:
        return stripped(program)
    return moved(program, titles, wanted, shapes)


def stripped(program: Path) -> Redirection | None:
    """A malloc of which the file has texts, but no symbols."""
    titles = tuple(mallocs_in(program))
    why = "no table of symbols names its functions (stripped); a build with symbols shows all"
    return Redirection(program, titles, (), (why,)) if titles else None


def named(names: Sequence[str]) -> dict[str, str]:
    """The shapes of the functions NAME or NAME=C-FUNCTION. Raises UsageError."""
    shapes = {}
    for text in names:
        name, _, like = text.partition("=")
        shape = shape_of(name, like)
        if shape is None:
            raise UsageError(
                f"--functions {text}: tell which function of C it is like, such as {name}=malloc"
            )
        shapes[name] = shape
    return shapes


def present(functions: Sequence[CodeOf]) -> tuple[list[str], list[CodeOf]]:
    """The mallocs of which the program has the functions, and these."""
    names = {plain(each.name) for each in functions}
    titles, wanted = [], set()
    for family in FAMILIES:
        for prefix in family.prefixes:
            if any(prefix + first in names for first in family.first):
                titles += [family.title] * (family.title not in titles)
                wanted |= {prefix + name for name in family.shapes}
    return titles, [each for each in functions if plain(each.name) in wanted]


def moved(
    program: Path | None, titles: Sequence[str], wanted: Sequence[CodeOf], shapes: dict[str, str]
) -> Redirection:
    helper = native.helper("move_entries")
    if helper is None:
        why = "this heaplab was built without move_entries, which needs capstone"
        return Redirection(program, tuple(titles), (), (why,))
    wanted = list({each.start: each for each in wanted}.values())  # one that has several names
    lines = "".join(f"{each.start:x} {each.padding:x} {each.code.hex()}\n" for each in wanted)
    answers = subprocess.run(
        [helper], input=lines, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    functions, faults = [], []
    for each, answer in zip(wanted, answers, strict=True):
        first, *rest = answer.split()
        if first == "-":
            faults.append(f"{plain(each.name)}: {' '.join(rest)}")
        else:
            kept = int(first)  # the jump stands behind
            replaced, code, *displacements = rest
            functions.append(
                Redirected(
                    each._replace(start=each.start + kept, code=each.code[kept:]),
                    shapes[plain(each.name)],
                    int(replaced),
                    bytes.fromhex(code),
                    tuple(map(int, displacements)),
                )
            )
    return Redirection(program, tuple(titles), tuple(functions), tuple(faults))
