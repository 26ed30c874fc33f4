"""Proof of the library that served malloc: without proof a figure says nothing about an allocator.

A workload reports the library itself (`served_by` of its sample). For any other program, heaplab asks the
loader: the loader binds every symbol as in the run, reports the library of each symbol, and stops before the
program's first instruction. The report is exact for the program and the libraries it is linked with.
Processes that the program starts are examined while they run.
"""

import os
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from heaplab.errors import UsageError
from heaplab.files import regular_file
from heaplab.machine import elf, process_tree
from heaplab.results.records import Arm, Sample, ServedBy

C_LIBRARY_NAME = "libc.so.6"
NO_MALLOC = "a collector, no malloc to run a program with; it runs workloads whose program is acdc alone"
SETTINGS = ("MALLOC_", "GLIBC_TUNABLES")  # what settings of glibc begin with
GLIBC_LOADER = re.compile(r"ld-linux.*|ld64\.so.*|ld\.so\.1")
C_LIBRARY = re.compile(r"(libc[.-].*|ld-musl-.*)")
CXX_LIBRARY = re.compile(r"(libstdc\+\+|libc\+\+)")
BINDING = re.compile(r"binding file (.+) \[\d+\] to (.+) \[\d+\]: normal symbol `malloc'")
SCRIPT_DEPTH = 4  # depth of #! interpreters that are scripts themselves, as the kernel allows it


def fault_of_sample(sample: Sample, library: Arm) -> str:
    """Why the sample was not served by `library`, in one line; "" if it was."""
    if library.runtime:
        return ""
    malloc = sample.served_by.get("malloc")
    if malloc is None:
        return "the sample does not tell what served malloc"
    if not serves(malloc, library):
        return f"malloc was served by {malloc.path}, not by {intended(library)}"
    new = sample.served_by.get("operator new")
    if new and not serves(new, library) and not CXX_LIBRARY.match(Path(new.path).name):
        return f"operator new was served by {new.path}, not by {intended(library)}"
    return ""


def serves(by: ServedBy, library: Arm) -> bool:
    if not library.preload:
        return bool(C_LIBRARY.fullmatch(Path(by.path).name))
    return str(Path(by.path).resolve()) in library.preload or (
        by.build_id != "" and by.build_id in library.build_id.values()
    )


def preloaded(library: Arm) -> Arm:
    """The arm as a real program gets it. Raises UsageError for a collector, which has no malloc.

    If the arm preloads no malloc, the C library is preloaded. Otherwise an allocator library that the program
    is linked with would serve the program.
    """
    if library.runtime:
        raise UsageError(f"{library.allocator}: {NO_MALLOC}")
    if library.preload or library.command or C_LIBRARY_NAME in library.beside:
        return library
    return library.model_copy(update={"beside": [*library.beside, C_LIBRARY_NAME]})


def intended(library: Arm) -> str:
    return library.preload[0] if library.preload else "the C library"


def fault_of_program(
    program: Path,
    environment: Mapping[str, str],
    library: Arm,
    called: str = "",
    *,
    may_have_malloc: bool = False,
) -> str:
    """Why `library`, preloaded by `environment`, will not serve the program; "" if it will.

    `called` is the name by which the program was started, if its path has another. With `may_have_malloc`,
    what calls a malloc of the program's own need not be served.
    """
    binary = interpreter_of(program)
    name = name_of(program, binary, called)
    if fault := fault_of_file(binary, name, may_have_malloc=may_have_malloc):
        return fault
    loader = elf.interpreter(binary)
    if loader is None or not GLIBC_LOADER.fullmatch(Path(loader).name):
        return fault_of_c_library(program, library, called)  # this loader cannot report bindings
    bound = bound_malloc(Path(loader), binary, environment)
    if wrong := [path for path in bound if not serves(ServedBy(path=path), library)]:
        return f"malloc of {name} would be served by {wrong[0]}, not by {intended(library)}"
    return ""


def name_of(program: Path, binary: Path, called: str = "") -> str:
    """The name of a program for people, beside that of the interpreter that runs the program."""
    name = called or program.name
    return name if binary == program.resolve() else f"{binary.name} (which runs {name})"


def fault_of_file(binary: Path, name: str, *, may_have_malloc: bool = False) -> str:
    """Why no preloaded library can serve a program, as far as its ELF file tells; "" if one can."""
    if elf.interpreter(binary) is None:
        heap = ", and written in Go, whose heap is its own" if elf.is_go(binary) else ""
        return f"{name} is linked statically, so no library can be preloaded into it{heap}"
    if changes_privileges(binary):
        return f"{name} changes its user, group or capabilities, so the loader ignores LD_PRELOAD"
    if not may_have_malloc and elf.own_malloc(binary):
        return f"{name} has a malloc of its own"
    return ""


def refuse_other_c_library(program: Path, library: Arm) -> None:
    """Raise UsageError for a program that would not even start with `library` preloaded."""
    if fault := fault_of_c_library(program, library):
        raise UsageError(fault)


def fault_of_c_library(program: Path, library: Arm, called: str = "") -> str:
    """Why the C library of the program cannot load `library`, or does not know its settings; "" if it does.

    The name of the program's loader tells which C library it belongs to.
    """
    binary = interpreter_of(program)
    other = other_c_library(binary, name_of(program, binary, called))
    if not other:
        return ""
    bound = [Path(path).name for path in library.preload if C_LIBRARY_NAME in elf.needed(Path(path))]
    bound += [name for name in library.environment if name.startswith(SETTINGS)]
    return f"{other}, which {bound[0]} needs" if bound else ""


def other_c_library(binary: Path, name: str) -> str:
    """That a program has another C library than glibc, in words; "" if it has glibc or is static."""
    loader = elf.interpreter(binary)
    if loader is None or GLIBC_LOADER.fullmatch(Path(loader).name):
        return ""
    return f"{name} has another C library than glibc (its loader is {Path(loader).name})"


def fault_of_process(pid: int, environment: Mapping[str, str], library: Arm) -> str:
    """Why a running process is not served by `library`, preloaded by `environment`; "" if it is."""
    program = Path(f"/proc/{pid}/exe").resolve()
    called = process_tree.name_of(pid, program)
    if library.preload and library.preload[0].encode() not in Path(f"/proc/{pid}/maps").read_bytes():
        return f"{called}, which did most of the work, did not load {library.preload[0]}"
    return fault_of_program(program, environment, library, called)


def resolve_program(program: str, environment: Mapping[str, str]) -> Path:
    """The executable file of a command name. Raises UsageError if there is none.

    Symbolic links are not followed: some programs behave according to the name by which they are called.
    """
    path = shutil.which(program, path=environment.get("PATH", os.defpath))
    if path is None:
        there = "/" in program and Path(program).exists()
        raise UsageError(f"{program}: {'not an executable file' if there else 'no such program'}")
    return Path(path).absolute()


def interpreter_of(program: Path) -> Path:
    """The ELF file that runs a program: the program itself, or the interpreter at the end of its #! lines."""
    return chain_of(program)[-1]


def chain_of(program: Path) -> list[Path]:
    """The program, the interpreter that its #! line names, and so on to the ELF file that runs all."""
    chain = []
    for _ in range(SCRIPT_DEPTH):
        program = program.resolve()
        chain.append(program)
        with regular_file.opened(program) as stream:
            first = stream.readline(512)
        if not first.startswith(b"#!"):
            return chain
        words = first[2:].decode(errors="replace").split()
        if len(words) > 1 and Path(words[0]).name == "env":
            words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
        if not words:
            break
        program = resolve_program(words[0], os.environ)
    raise UsageError(f"{program}: a script without an interpreter that can be found")


def changes_privileges(program: Path) -> bool:
    """Whether the kernel starts the program in secure mode for this user: see getauxval(3), AT_SECURE.

    Root already has all capabilities, so that the capabilities of a file change nothing for root; another
    user or group does.
    """
    if os.statvfs(program).f_flag & os.ST_NOSUID or no_new_privileges():
        return False  # the kernel ignores set-user-ID, set-group-ID and capabilities of the file
    status = program.stat()
    by_group = stat.S_ISGID | stat.S_IXGRP  # set-group-ID without the execute bit means mandatory locking
    user = status.st_mode & stat.S_ISUID and status.st_uid != os.getuid()
    group = status.st_mode & by_group == by_group and status.st_gid != os.getgid()
    capable = os.getuid() != 0 and "security.capability" in os.listxattr(program)
    return bool(user or group or capable)


def no_new_privileges() -> bool:
    """Whether this process and its children can gain no privileges: prctl(2), PR_SET_NO_NEW_PRIVS."""
    try:
        return "\nNoNewPrivs:\t1\n" in Path("/proc/self/status").read_text()
    except OSError:  # no /proc: a program of another user then shows that it was not served
        return False


def bound_malloc(loader: Path, program: Path, environment: Mapping[str, str]) -> list[str]:
    """The libraries to which the loader binds malloc for the program and the libraries it is linked with."""
    with tempfile.TemporaryDirectory(prefix="heaplab-") as folder:
        trace = {
            "LD_TRACE_LOADED_OBJECTS": "1",
            "LD_WARN": "yes",
            "LD_BIND_NOW": "1",
            "LD_DEBUG": "bindings",
            "LD_DEBUG_OUTPUT": f"{folder}/trace",
        }
        subprocess.run(
            [loader, program], env={**environment, **trace}, capture_output=True, check=False, timeout=60
        )
        lines = "".join(path.read_text(errors="replace") for path in Path(folder).iterdir())
    # A binding to the program itself is an entry of its jump table, not a malloc: see own_malloc.
    targets = {target for _, target in BINDING.findall(lines)}
    return sorted(target for target in targets if Path(target).resolve() != program)
