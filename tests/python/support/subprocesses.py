"""Programs made for a test, commands that are run to their end, and heaplab in a process of its own."""

import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

HEAPLAB = (sys.executable, "-m", "heaplab")
# A job in the background ignores these signals unless told otherwise.
HEEDING = ("env", "--default-signal=INT,HUP")
SHARED = ("-shared", "-fPIC")  # options of a library
# A malloc and a free over those of the C library.
OVER_LIBC = r"""
#include <stddef.h>
extern void* __libc_malloc(size_t);
extern void __libc_free(void*);
void* malloc(size_t size) { return __libc_malloc(size); }
void free(void* block) { __libc_free(block); }
"""


def compiled(made: Path, text: str, *options: str) -> Path:
    """Compile the text to the program or library `made`; the source stays beside."""
    source = made.with_suffix(".c")
    source.write_text(text)
    subprocess.run(["cc", "-o", made.name, source.name, *options], cwd=made.parent, check=True)
    return made


def executable(path: Path, text: str) -> Path:
    """Write a script that can be started."""
    path.write_text(text)
    path.chmod(0o755)
    return path


def written(folder: Path, files: Mapping[str, str]) -> Path:
    """Write files by their places in the folder."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def wheel_of(path: Path, files: Mapping[str, str | Path]) -> Path:
    """Make a wheel of these files, texts or ones to be copied, of the name and version in its own name."""
    name, version, *_ = path.name.split("-")
    info = f"{name}-{version}.dist-info"
    about = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": "",
    }
    path.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for place, content in {**files, **about}.items():
            archive.writestr(place, content if isinstance(content, str) else content.read_bytes())
    return path


def ran(*command: object, check: bool = False, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, and keep what it writes."""
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=check, **options)


def printed_by(*command: object, **options: Any) -> str:
    """What a command that ends well writes to its standard output."""
    return ran(*command, check=True, **options).stdout


def until(true: Callable[[], object], what: str, patience: float = 60, pause: float = 0.02) -> None:
    """Wait for what has to come about."""
    end = time.monotonic() + patience
    while not true():
        assert time.monotonic() < end, f"{what}: not after {patience:g} s"
        time.sleep(pause)


def gone(pid: str) -> bool:
    """Whether a process has ended, reaped or not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def heaplab(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run heaplab in the folder, to its end."""
    return ran(*HEAPLAB, *arguments, cwd=folder, timeout=300)


def git(folder: Path, *words: str) -> str:
    """Run git as somebody; return what it prints."""
    identity = ("-c", "user.name=A", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    return printed_by("git", *identity, *words, cwd=folder).strip()
