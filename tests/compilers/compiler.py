"""A compiler, asked whether it takes a text."""

import os
import subprocess
from pathlib import Path

INCLUDE = Path(__file__).parents[2] / "include"


def messages_on(compiler: str, language: str, options: tuple[str, ...], text: str) -> str:
    """Return what the compiler says to a text that includes public headers: empty if it is content."""
    command = (compiler, "-x", language, *options, "-fsyntax-only", f"-I{INCLUDE}", "-")
    # In the C locale a message is the same everywhere, and in ASCII.
    environment = os.environ | {"LC_ALL": "C"}
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, env=environment)
    return done.stderr or ("" if done.returncode == 0 else f"exit status {done.returncode}")
