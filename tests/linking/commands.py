"""Commands that have to succeed, and what a program needs."""

import os
import subprocess
import sys
from pathlib import Path


def output_of(*command: str | Path, folder: Path | None = None, **environment: str | Path) -> str:
    """Run a command and return its standard output; on failure show both streams and end."""
    variables = os.environ | {name: str(value) for name, value in environment.items()}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=variables)
    if done.returncode != 0:
        words = " ".join(map(str, command))
        sys.exit(f"{words}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def needed(program: Path) -> list[str]:
    """Return the shared libraries that a program needs."""
    lines = output_of("readelf", "-dW", program).splitlines()
    return [line[line.index("[") + 1 : line.index("]")] for line in lines if "(NEEDED)" in line]
