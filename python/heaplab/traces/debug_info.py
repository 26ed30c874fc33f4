"""Functions and lines of code addresses, from debug information as tools of LLVM or the binutils read it."""

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

LONGEST_S = 60  # time limit for the addresses of one file
SEPARATE = Path("/usr/lib/debug/.build-id")  # where packages of debug information install their files
# Hashes in Rust's names, which say nothing to a reader: of a function (legacy mangling), of a crate (v0).
RUST_HASH = re.compile(r"::h[0-9a-f]{16}$|(?<=\w)\[[0-9a-f]+\](?=::)")
MANGLED = ("_Z", "_R")


class Frame(NamedTuple):
    """A function according to debug information; "" and 0 for what is unknown."""

    function: str  # perhaps mangled
    file: str = ""
    line: int = 0


def frames(path: str, addresses: Sequence[int]) -> list[list[Frame]]:
    """For each address of the file its function, preceded by the functions inlined there, innermost first.

    Empty if there is no tool, or if the tool's answer is not understood.
    """
    if tool := shutil.which("llvm-symbolizer"):
        command = [tool, "--output-style=GNU", "--no-demangle"]
    elif tool := shutil.which("addr2line"):
        command = [tool]
    else:
        return [[] for _ in addresses]
    lines = answers([*command, "-a", "-f", "-i", "-e", path], [f"0x{address:x}" for address in addresses])
    by_address: list[list[Frame]] = []
    for line in lines:
        if line.startswith("0x"):
            by_address.append([])
        elif not by_address:
            break
        elif not by_address[-1] or by_address[-1][-1].line != PENDING:
            by_address[-1].append(Frame(line, line=PENDING))
        else:
            function = by_address[-1][-1].function
            by_address[-1][-1] = Frame("" if function == "??" else function, *place(line))
    return by_address if len(by_address) == len(addresses) else [[] for _ in addresses]


PENDING = -1  # in place of a line number that the tool prints next


def place(text: str) -> tuple[str, int]:
    """File and line from FILE:LINE, which " (discriminator N)" may follow; "" and 0 if unknown (??)."""
    file, _, number = text.partition(" (")[0].rpartition(":")
    return (file, int(number)) if number.isdigit() and int(number) and file != "??" else ("", 0)


def demangled(names: Sequence[str]) -> list[str]:
    """The names of C++ and Rust as in the source; unchanged without c++filt and llvm-cxxfilt."""
    tool = shutil.which("c++filt") or shutil.which("llvm-cxxfilt")
    if tool is None or not any(name.startswith(MANGLED) for name in names):
        return list(names)
    out = answers([tool], names)
    return [RUST_HASH.sub("", name) for name in out] if len(out) == len(names) else list(names)


def advice(path: str) -> str:
    """How to get the debug information of an installed file."""
    package = ""
    if shutil.which("dpkg-query"):
        owner = answers(["dpkg-query", "--search", path], [])
        package = owner[0].partition(":")[0] if owner else ""
    if package:
        return f"apt-get install {package}-dbgsym (https://wiki.debian.org/HowToGetABacktrace)"
    return "compile with -g, and do not strip"


def answers(command: Sequence[str], questions: Sequence[str]) -> list[str]:
    try:
        done = subprocess.run(
            command,
            input="".join(f"{question}\n" for question in questions),
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=LONGEST_S,
        )
    except subprocess.TimeoutExpired:
        return []
    return done.stdout.splitlines()
