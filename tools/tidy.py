#!/usr/bin/env python3
"""Run the checks of .clang-tidy on the sources of src and the headers they include.

The preset dev must be configured: it compiles each source by itself. Examples:
  tools/tidy.py src/allocators/scalloc/library.cpp
  tools/tidy.py --last 20
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
COMMANDS = ROOT / "build/dev/compile_commands.json"


def one_command_each(commands: list[dict[str, str]]) -> dict[tuple[str, bool], dict[str, str]]:
    """Return one command for each source of src; a malloc library's with and without the C++ names."""
    kept: dict[tuple[str, bool], dict[str, str]] = {}
    for command in commands:
        if Path(command["file"]).is_relative_to(ROOT / "src"):
            kept.setdefault((command["file"], "-DHEAPLAB_BIND_CXX" in command["command"]), command)
    return kept


def changed_by(commits: int) -> set[Path] | None:
    """Files that the last commits changed, and the folders of headers; None where the history is shorter."""
    words = ["git", "diff", "--name-only", f"HEAD~{commits}", "--", "src"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        return None
    changed = {ROOT / name for name in done.stdout.splitlines()}
    return changed | {path.parent for path in changed if path.suffix == ".h"}


def check(database: Path, source: str) -> bool:
    """Print what clang-tidy finds in a source; return whether that is nothing."""
    done = subprocess.run(
        ["clang-tidy", "-p", database, "--quiet", "--experimental-custom-checks", source],
        capture_output=True,
        text=True,
        check=False,
    )
    print(done.stdout, end="")
    return done.returncode == 0


def main() -> int:
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="[default: every source]")
    parser.add_argument(
        "--last",
        type=int,
        metavar="N",
        help="sources that the last N commits changed, and those beside a header that they changed",
    )
    given = parser.parse_args()
    wanted = {path.resolve() for path in given.files} or None
    if given.last is not None:
        wanted = changed_by(given.last)
    if not COMMANDS.is_file():
        print(f"{COMMANDS}: no such file; run cmake --preset dev", file=sys.stderr)
        return 2
    kept = one_command_each(json.loads(COMMANDS.read_text()))
    database = ROOT / "build/tidy"
    database.mkdir(parents=True, exist_ok=True)
    (database / COMMANDS.name).write_text(json.dumps(list(kept.values())))
    sources = sorted(
        {
            source
            for source, _ in kept
            if wanted is None or Path(source) in wanted or Path(source).parent in wanted
        }
    )
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return 0 if all(list(pool.map(lambda source: check(database, source), sources))) else 1


if __name__ == "__main__":
    sys.exit(main())
