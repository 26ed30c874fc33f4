#!/usr/bin/env python3
"""Run real programs under a malloc library and compare what they put out with what they put out without it.

Usage: run_programs.py SOURCE-FOLDER SCRATCH-FOLDER LIBRARY [PROGRAM...]

Programs: see PROGRAMS below; all of them but rebuild and cpython unless named.
Exit status 0: all the same, 1: one differs, fails or does not end, 2: wrong usage.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from cpython_suite import cpython
from nginx_server import nginx
from postgres_server import postgres
from redis_server import redis
from serving import ProgramError

LIMIT_S = 120
HERE = Path(__file__).parent
SOURCE = Path()

Environment = dict[str, str]


def run(environment: Environment, *command: str | Path, folder: Path | None = None) -> str:
    """Run a command to its end and return its standard output."""
    words = list(map(str, command))
    try:
        done = subprocess.run(
            words, env=environment, cwd=folder, capture_output=True, text=True, check=False, timeout=LIMIT_S
        )
    except subprocess.TimeoutExpired:
        raise ProgramError(f"{words[0]}: no end after {LIMIT_S} s") from None
    if done.returncode != 0:
        raise ProgramError(f"{' '.join(words)}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def compiler(environment: Environment, folder: Path) -> bytes:
    """Return the object code of a file of this project."""
    file, result = SOURCE / "src/probes/json_line.cpp", folder / "json_line.o"
    run(environment, "c++", "-std=c++20", "-O1", f"-I{SOURCE}/src", "-c", file, "-o", result)
    return result.read_bytes()


def python(environment: Environment, folder: Path) -> str:
    """Every object of the interpreter has a block of its own, and threads free what others allocate."""
    del folder
    return run(
        environment | {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "1"}, sys.executable, HERE / "work.py"
    )


def sqlite(environment: Environment, folder: Path) -> str:
    del folder
    return run(environment, "sqlite3", ":memory:", f".read {HERE / 'work.sql'}")


def perl(environment: Environment, folder: Path) -> str:
    del folder
    return run(environment | {"PERL_HASH_SEED": "1"}, "perl", HERE / "work.pl")


def node(environment: Environment, folder: Path) -> str:
    del folder
    return run(environment, "node", HERE / "work.js")


def git(environment: Environment, folder: Path) -> str:
    """A repository of this project's sources: object names, a pack made by several threads, its check."""
    work = folder / "repository"
    shutil.copytree(SOURCE / "src", work)
    who = ("-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "gc.auto=0")
    fixed = environment | {
        "GIT_AUTHOR_DATE": "2001-01-01T00:00:00Z",
        "GIT_COMMITTER_DATE": "2001-01-01T00:00:00Z",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    commands = [
        ["init", "-q", "-b", "main"],
        ["add", "."],
        ["commit", "-q", "-m", "all"],
        ["-c", "pack.threads=3", "repack", "-adq"],
        ["fsck", "--strict"],
        ["log", "--stat"],
        ["grep", "-c", "heap"],
    ]
    return "".join(run(fixed, "git", *who, *command, folder=work) for command in commands)


def rebuild(environment: Environment, folder: Path) -> str:
    """Build scalloc and a workload with every tool under the library, and run the one under the other."""
    build = folder / "build"
    run(environment, "cmake", "-G", "Ninja", "-S", SOURCE, "-B", build, "-DHEAPLAB_TESTS=OFF")
    run(environment, "cmake", "--build", build, "-j2", "--target", "heaplab_scalloc", "threadtest")
    library = build / "lib/libheaplab_scalloc.so"
    limits = (
        "setrlimit",
        "setrlimit64",
        "prlimit",
        "prlimit64",
        "sched_setaffinity",
        "malloc_returnable",
    )  # as src/allocators/scalloc/CMakeLists.txt has it
    exports = run(environment, sys.executable, SOURCE / "tools/check_exports.py", library, *limits)
    rebuilt = environment | {"LD_PRELOAD": str(library)}
    measured = json.loads(run(rebuilt, build / "bin/threadtest", "--threads", "2", "--json", "-"))
    if measured["served_by"]["malloc"]["path"] != str(library.resolve()):
        raise ProgramError(f"threadtest: served by {measured['served_by']}")
    return exports


PROGRAMS: dict[str, Callable[[Environment, Path], str | bytes]] = {
    "compiler": compiler,
    "python": python,
    "sqlite": sqlite,
    "perl": perl,
    "git": git,
    "redis": redis,
    "postgres": postgres,
    "nginx": nginx,
    "node": node,
    "rebuild": rebuild,
    "cpython": cpython,
}
ONLY_WHEN_NAMED = ("rebuild", "cpython")


def outcome(name: str, environment: Environment, scratch: Path) -> str | bytes:
    """Run one program in an empty folder, the same with and without the library."""
    folder = scratch / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return PROGRAMS[name](environment, folder)


def main() -> int:
    global SOURCE
    names = sys.argv[4:] or [name for name in PROGRAMS if name not in ONLY_WHEN_NAMED]
    if len(sys.argv) < 4 or not set(names) <= set(PROGRAMS):
        print(__doc__, file=sys.stderr)
        return 2
    SOURCE, scratch, library = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    served = os.environ | {"LD_PRELOAD": library}
    if library not in run(served, "cat", "/proc/self/maps"):
        print(f"{library}: cannot be preloaded")
        return 1
    plain = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    faults = 0
    for name in names:
        start = time.monotonic()
        try:
            # What a build must come to is known.
            expected = "" if name == "rebuild" else outcome(name, plain, scratch)
            same = outcome(name, served, scratch) == expected
            verdict = "same output" if same else "FAULT: other output than without the library"
        except (ProgramError, OSError, subprocess.TimeoutExpired) as failure:
            same, verdict = False, f"FAULT: {failure}"
        faults += not same
        print(f"{name}: {verdict} ({time.monotonic() - start:.1f} s)", flush=True)
    shutil.rmtree(scratch, ignore_errors=True)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
