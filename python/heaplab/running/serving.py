"""Which malloc serves a running process, by the rule of the loader: the first definition in its order.

The order is the program, what is preloaded, then what these need, level by level. What was opened later
(dlopen) is not in it. Files are read as the process sees them, also inside a container; nothing of the
process is loaded, started or stopped.
"""

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from heaplab.errors import HeaplabError, UsageError
from heaplab.machine import elf, interposition, native
from heaplab.machine.coverage import unseen
from heaplab.machine.coverage.compiled_in import mallocs_in
from heaplab.machine.coverage.mappings import Region
from heaplab.machine.watch import descendants
from heaplab.report.words import beyond_malloc
from heaplab.running.read_once import read_once
from heaplab.running.smaps import regions
from heaplab.running.target import Target, bits_of, target

C_LIBRARY = "the C library"
DELETED = " (deleted)"
PRELOAD_FILE = "/etc/ld.so.preload"
RECORDER = native.LIBRARY_PREFIX + "recorder.so"  # stays where it was loaded once, and serves no malloc


@dataclass(frozen=True)
class MappedModule:
    """A file with code in the process."""

    path: str  # as the process names it
    file: Path  # where it can be read from here
    start: int  # of its first mapping
    regions: tuple[Region, ...]


Modules = dict[str, MappedModule]  # by path


@dataclass(frozen=True)
class Serving:
    """What serves the malloc of a process."""

    malloc: MappedModule | None  # None: no library does
    fault: str = ""  # why no library does, or what is unusual, in words
    build_id: str = ""
    beside: tuple[str, ...] = ()  # mallocs beside it, in words

    @property
    def is_c_library(self) -> bool:
        return self.malloc is not None and bool(
            interposition.C_LIBRARY.fullmatch(Path(self.malloc.path).name)
        )

    @property
    def name(self) -> str:
        if self.malloc is None:
            return "no library"
        return C_LIBRARY if self.is_c_library else Path(self.malloc.path).name


def serving(of: Target) -> Serving:
    """What serves malloc in the process. Raises HeaplabError."""
    modules = modules_of(of)
    try:
        if fault := unserved(of):
            return Serving(None, fault)
        for module in in_order(of, modules.get(str(of.program)), modules):
            if "malloc" in defined(module.file):
                return Serving(module, build_id=elf.build_id(module.file), beside=beside(of))
    except UsageError as error:
        return Serving(None, str(error).replace(str(of.file), str(of.program)))
    return Serving(None, f"{of.name} has no library with a malloc")


def unserved(of: Target) -> str:
    """Why no library serves malloc, as far as the program's file tells, in words; "" if one does."""
    if bits_of(of.file) == 32:
        return f"{of.name} is a 32-bit program, whose malloc heaplab does not know"
    if elf.interpreter(of.file) is None:
        fault = interposition.fault_of_file(of.file, of.name)
    elif elf.own_malloc(of.file):
        fault = f"{of.name} has a malloc of its own"
    else:
        fault = interposition.other_c_library(of.file, of.name)
    return "; ".join([fault, *beside(of)]) if fault else ""


def beside(of: Target) -> tuple[str, ...]:
    """That a malloc is compiled into the program under names of its own, in words."""
    mallocs = mallocs_in(of.file)
    return (beyond_malloc.compiled_in(mallocs),) if mallocs else ()


def in_order(of: Target, program: MappedModule | None, modules: Modules) -> Iterator[MappedModule]:
    """The modules in which the loader looks for a symbol, in its order."""
    by_name = {Path(path).name: module for path, module in modules.items()}
    by_name |= {name: module for module in modules.values() if (name := soname(module.file))}
    wanted = [*preloaded(of, modules)]
    queue = [module for name in wanted if (module := modules.get(name) or by_name.get(Path(name).name))]
    if program:
        queue.insert(0, program)
    paths: dict[str, None] = {}
    for module in queue:
        if module.path not in paths:
            paths[module.path] = None
            yield module
            queue += [by_name[name] for name in elf.needed(module.file) if name in by_name]


def preloaded(of: Target, modules: Modules) -> list[str]:
    """What LD_PRELOAD and /etc/ld.so.preload name; all other libraries with a malloc, if a title hides that.

    A program that writes a title over its environment, as servers do, leaves no LD_PRELOAD to read.
    """
    environment = (of.proc / "environ").read_bytes()
    words = [word for word in environment.split(b"\0") if word]
    names = [word.partition(b"=")[2].decode() for word in words if word.startswith(b"LD_PRELOAD=")]
    with contextlib.suppress(OSError):
        names.append(of.inside(PRELOAD_FILE).read_text())
    if not words or any(b"=" not in word for word in words):
        names += [
            path
            for path, module in modules.items()
            if not interposition.C_LIBRARY.fullmatch(name := Path(path).name)
            and name != RECORDER
            and "malloc" in defined(module.file)
        ]
    return [word for name in names for word in re.split(r"[ :\n]+", name) if word]


def modules_of(of: Target) -> Modules:
    """The mapped files that hold code, by path."""
    by_name: dict[str, list[Region]] = {}
    for region in regions(of):
        if region.name.startswith("/") and not region.name.endswith(DELETED):
            by_name.setdefault(region.name, []).append(region)
    return {
        path: MappedModule(
            path, of.file if path == str(of.program) else of.inside(path), parts[0].start, tuple(parts)
        )
        for path, parts in by_name.items()
        if any("x" in part.permissions for part in parts)
    }


def defined(file: Path) -> frozenset[str]:
    """The functions that a library defines for others; none, if it cannot be read."""
    try:
        return functions_in(file)
    except UsageError:
        return frozenset()


@read_once
def functions_in(file: Path) -> frozenset[str]:
    with elf.opened(file, "not an ELF library") as opened:
        return frozenset(elf.defined_symbols(opened, ".dynsym"))


def soname(file: Path) -> str:
    try:
        return elf.soname(file)
    except UsageError:
        return ""


def lost_children(of: Target, served: Serving) -> list[str]:
    """The descendants that the preloaded malloc of the process does not serve, and why, a line for each."""
    if served.malloc is None or served.is_c_library:
        return []
    return [said for pid in descendants(of.pid)[1:] if (said := why_lost(pid, served))]


def why_lost(pid: int, served: Serving) -> str:
    assert served.malloc
    try:
        child = target(str(pid))
        names = frozenset(region.name for region in regions(child))
        library = served.malloc.path
        why = unseen.why_not_seen(pid, child.file, child.title, names, library)
        return f"{why}; {serving(child).name} serves its malloc" if why else ""
    except (HeaplabError, OSError):
        return ""  # it has ended meanwhile, or is not to be looked at
