#!/usr/bin/env python3
"""Check what a malloc library shows to the world and what it needs of it.

It exports exactly the names of FILE, src/shim/exports.txt unless given, and the extra ones, needs nothing
but the C library, leaves the environment of a set-user-id program alone, and calls nothing that would find
its thread-local memory by asking the dynamic loader (which calls malloc).
Exit status 0: so it is, 1: not, 2: wrong usage.
Example: tools/check_exports.py build/release/lib/libheaplab_bump.so
"""

import subprocess
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from pathlib import Path

CONTRACT = Path(__file__).parent.parent / "src" / "shim" / "exports.txt"
NEEDED_ALLOWED = ("libc.so.", "ld-linux")


def lines_of(*command: str) -> list[str]:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def names_in(contract: Path) -> set[str]:
    lines = contract.read_text().splitlines()
    return {name for line in lines if not line.startswith("#") for name in line.split()}


def symbols(library: str, *options: str) -> set[str]:
    """Return the names of the dynamic symbols that nm selects, without version."""
    return {line.split()[-1].split("@")[0] for line in lines_of("nm", "-D", *options, library)}


def faults(library: str, expected: set[str]) -> list[str]:
    exported = symbols(library, "--defined-only")
    texts = [f"does not export {name}" for name in sorted(expected - exported)]
    texts += [f"exports {name}, which is not in the contract" for name in sorted(exported - expected)]
    for line in lines_of("readelf", "-dW", library):
        if "(NEEDED)" in line:
            needed = line[line.index("[") + 1 : line.index("]")]
            if not needed.startswith(NEEDED_ALLOWED):
                texts.append(f"needs {needed}")
    if "getenv" in symbols(library, "--undefined-only"):
        texts.append("reads the environment of set-user-id programs: getenv, which must be secure_getenv")
    if "__tls_get_addr" in symbols(library, "--undefined-only"):
        texts.append(
            "reaches thread-local memory through the dynamic loader; is -ftls-model=initial-exec lost?"
        )
    return texts


def main() -> int | str:
    """Return what sys.exit takes: a status, or the faults, which it prints and ends with status 1."""
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--contract", type=Path, default=CONTRACT, metavar="FILE", help="names to export")
    parser.add_argument("library")
    parser.add_argument("extra", nargs="*", metavar="NAME", help="that it exports as well")
    given = parser.parse_args()
    if not Path(given.library).is_file():
        parser.error(f"{given.library}: no such file")
    texts = faults(given.library, names_in(given.contract) | set(given.extra))
    return "\n".join(f"{given.library} {fault}" for fault in texts) or 0


if __name__ == "__main__":
    sys.exit(main())
