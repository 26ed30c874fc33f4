"""Programs and libraries compiled from C, and heaplab in a process of its own."""

import subprocess
import sys
from pathlib import Path

HEAPLAB = (sys.executable, "-m", "heaplab")
SHARED = ("-shared", "-fPIC")  # options of a library


def compiled(made: Path, text: str, *options: str) -> Path:
    """Compile the text to the program or library `made`; the source stays beside."""
    source = made.with_suffix(".c")
    source.write_text(text)
    subprocess.run(["cc", "-o", made.name, source.name, *options], cwd=made.parent, check=True)
    return made


def heaplab(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run heaplab in the folder, to its end."""
    command = [*HEAPLAB, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, timeout=300)
