#!/usr/bin/env python3
"""Install the malloc libraries, build a user's project against them in every way, and run what comes out.

Usage: run.py BUILD-FOLDER SCRATCH-FOLDER LIBRARY...
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).parent / "user_project"


def output_of(*command: str | Path) -> str:
    """Run a command and return its standard output; on failure show both streams and end."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        words = " ".join(map(str, command))
        sys.exit(f"{words}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def needed(program: Path) -> list[str]:
    lines = output_of("readelf", "-dW", program).splitlines()
    return [line[line.index("[") + 1 : line.index("]")] for line in lines if "(NEEDED)" in line]


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
    flags = output_of("pkg-config", folder, "--libs", f"heaplab-{library}").split()
    # The name by which `check` knows a dynamically linked C program.
    program = scratch / f"{library}_c_pkg_config_shared"
    output_of("cc", PROJECT / "c_program.c", "-o", program, f"-Wl,-rpath,{prefix}/lib", *flags)
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
        if len(programs) != 6:
            sys.exit(f"{library}: built {len(programs)} programs")
        for program in programs:
            check(program, library)
        check_pkg_config(prefix, scratch, library)
        for kind in ("shared", "static"):
            output_of(user_build / f"{library}_replacing_{kind}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
