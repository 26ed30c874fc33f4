#!/usr/bin/env python3
"""Install the malloc libraries, build a user's project against them in every way, and run what comes out.

Usage: run.py BUILD-FOLDER SCRATCH-FOLDER LIBRARY...
"""

import os
import shutil
import sys
from pathlib import Path

from commands import needed, output_of

PROJECT = Path(__file__).parent / "user_project"


def check(program: Path, library: str) -> None:
    """Fail unless `library` serves `program`, and a C program needs no C++ run-time library."""
    # The allocator names itself at the start of malloc_info; a variant may share the name of its allocator.
    served = output_of(program)
    if not served.startswith('<malloc version="1" allocator="'):
        sys.exit(f"{program.name}: served by another malloc:\n{served}")
    libraries = needed(program)
    if program.name.endswith("shared") != (f"libheaplab_{library}.so" in libraries):
        sys.exit(f"{program.name}: needs {libraries}")
    if "_c_" in program.name and any("stdc++" in name for name in libraries):
        sys.exit(f"{program.name}: a C program needs {libraries}")


def check_pkg_config(prefix: Path, scratch: Path, library: str) -> None:
    """Fail unless the flags of pkg-config make a program that `library` serves."""
    folder = f"--with-path={prefix}/lib/pkgconfig"
    flags = output_of("pkg-config", folder, "--cflags", "--libs", f"heaplab-{library}").split()
    source = PROJECT / ("llheap_program.c" if library.startswith("llheap") else "c_program.c")
    # The name by which `check` knows a dynamically linked C program.
    program = scratch / f"{library}_c_pkg_config_shared"
    output_of("cc", source, "-o", program, f"-Wl,-rpath,{prefix}/lib", *flags)
    check(program, library)


def main() -> int:
    if len(sys.argv) < 4:
        print(__doc__, file=sys.stderr)
        return 2
    build, scratch, libraries = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
    shutil.rmtree(scratch, ignore_errors=True)
    prefix, user_build = scratch / "prefix", scratch / "build"
    output_of("cmake", "--install", build, "--prefix", prefix, "--component", "development")
    output_of(
        *("cmake", "-G", "Ninja", "-S", PROJECT, "-B", user_build),
        *(f"-DCMAKE_PREFIX_PATH={prefix}", f"-DLIBRARIES={';'.join(libraries)}"),
    )
    output_of("cmake", "--build", user_build, "-j", str(os.cpu_count()))
    output_of(user_build / "local_allocators")
    for library in libraries:
        programs = sorted(user_build.glob(f"{library}_c*"))
        if len(programs) != (8 if library.startswith("llheap") else 6):
            sys.exit(f"{library}: built {len(programs)} programs")
        for program in programs:
            check(program, library)
        check_pkg_config(prefix, scratch, library)
        for kind in ("shared", "static"):
            output_of(user_build / f"{library}_replacing_{kind}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
