#!/usr/bin/env python3
"""Run the checks of .clang-tidy on the sources of src and the headers they include.

The preset release must be configured. Example: tools/tidy.py src/allocators/scalloc/library.cpp
Exit status 0: nothing found, 1: something found, 2: the preset is not configured

clang-tidy looks at a source once for each command that compiles it. A malloc library is one source, compiled
for a dozen variants of one struct of settings: one command a source is kept, and of a library both halves.
"""

import json
import os
import subprocess
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMMANDS = ROOT / "build/release/compile_commands.json"


def one_command_each(commands: list[dict[str, str]]) -> dict[tuple[str, bool], dict[str, str]]:
    """Return one command for each source of src; a malloc library's with and without the C++ names."""
    kept: dict[tuple[str, bool], dict[str, str]] = {}
    for command in commands:
        if Path(command["file"]).is_relative_to(ROOT / "src"):
            kept.setdefault((command["file"], "-DHEAPLAB_BIND_CXX" in command["command"]), command)
    return kept


def check(database: Path, source: str) -> bool:
    """Print what clang-tidy finds in a source; return whether that is nothing."""
    done = subprocess.run(
        ["clang-tidy", "-p", database, "--quiet", source], capture_output=True, text=True, check=False
    )
    print(done.stdout, end="")
    return done.returncode == 0


def main() -> int:
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="[default: every source]")
    wanted = {str(path.resolve()) for path in parser.parse_args().files}
    if not COMMANDS.is_file():
        print(f"{COMMANDS}: no such file; run cmake --preset release", file=sys.stderr)
        return 2
    kept = one_command_each(json.loads(COMMANDS.read_text()))
    database = ROOT / "build/tidy"
    database.mkdir(parents=True, exist_ok=True)
    (database / COMMANDS.name).write_text(json.dumps(list(kept.values())))
    sources = sorted({source for source, _ in kept if not wanted or source in wanted})
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return 0 if all(list(pool.map(lambda source: check(database, source), sources))) else 1


if __name__ == "__main__":
    sys.exit(main())
