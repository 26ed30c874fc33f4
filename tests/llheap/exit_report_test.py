"""What the libraries say at the end of a process, by environment variable and in the debug library.

Usage: exit_report_test.py LIBRARY STATS_LIBRARY DEBUG_LIBRARY
"""

import os
import subprocess
import sys


def said_by(library: str, **environment: str) -> list[str]:
    """Return the lines of llheap on standard error of a short program."""
    command = [sys.executable, "-c", "print('done')"]
    settings = {**os.environ, "LD_PRELOAD": library, **environment}
    result = subprocess.run(command, capture_output=True, text=True, check=True, env=settings)
    assert result.stdout == "done\n", result.stdout
    return [line for line in result.stderr.splitlines() if line.startswith("llheap: ")]


def has(lines: list[str], start: str) -> bool:
    return any(line.startswith(start) for line in lines)


def main() -> None:
    plain, stats, debug = sys.argv[1:]
    os.environ.pop("MALLOC_STATS", None)
    assert said_by(plain) == []
    assert said_by(stats) == []

    lines = said_by(plain, MALLOC_STATS="yes")
    assert has(lines, "llheap: areas count 1 "), lines
    assert not has(lines, "llheap: bucket "), lines
    assert not has(lines, "llheap: malloc calls "), lines
    assert has(said_by(plain, MALLOC_STATS="1"), "llheap: bucket bytes ")
    assert has(said_by(stats, MALLOC_STATS="yes"), "llheap: malloc calls ")

    (unfreed,) = said_by(debug)
    assert unfreed.startswith("llheap: unfreed bytes "), unfreed


if __name__ == "__main__":
    main()
