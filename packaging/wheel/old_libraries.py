#!/usr/bin/env python3
"""Make what programs link against that must start with an old C library: one folder for the compiler's -B.

The folder holds glibc's start files and stubs of glibc's libraries as of FLOOR, which the package ziglang
makes for any release of it, and stubs of this machine's C++ libraries with the symbols that gcc of that age
has. What is newer comes from libstdc++.a, and what libstdc++.a itself needs from compat/.
Example: packaging/wheel/old_libraries.py x86_64 build/wheel/x86_64/old-libraries
"""

import argparse
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from elftools.elf.elffile import ELFFile

FLOOR = "2.28"  # of glibc
# gcc 8's runtime: the newest version of each family of symbols that policy manylinux_2_28 grants.
NEWEST = {"GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11), "GCC": (7, 0, 0)}
HERE = Path(__file__).parent
LOADERS = {"x86_64": "ld-linux-x86-64.so.2", "aarch64": "ld-linux-aarch64.so.1"}


def c_library(machine: str, folder: Path) -> None:
    """Have zig link an empty program for FLOOR, and keep what it made for that."""
    with tempfile.TemporaryDirectory() as name:
        cache = Path(name)
        empty = cache / "empty.c"
        empty.write_text("int main(void) { return 0; }\n")
        command = [sys.executable, "-m", "ziglang", "cc", "-target", f"{machine}-linux-gnu.{FLOOR}"]
        # -s: debug information would name the cache.
        command += ["-pie", "-fPIE", "-s", str(empty), "-o", str(cache / "empty")]
        subprocess.run(command, check=True, env=os.environ | {"ZIG_GLOBAL_CACHE_DIR": name})
        for wanted in ("Scrt1.o", "libc_nonshared.a", "lib*.so.*"):
            for made in cache.glob(f"o/*/{wanted}"):
                shutil.copy(made, folder)
    shutil.move(folder / "libld.so.2", folder / LOADERS[machine])
    for stub in folder.glob("lib*.so.*"):
        if not stub.name.startswith("libc.so"):
            (folder / (stub.name.split(".so")[0] + ".so")).symlink_to(stub.name)
    parts = f"libc.so.6 libc_nonshared.a AS_NEEDED ( {LOADERS[machine]} )"
    (folder / "libc.so").write_text(f"GROUP ( {parts} )\n")


def granted(version: str) -> bool:
    """Whether a symbol of this version is as old as the floor: "GLIBCXX_3.4.11"."""
    family, _, numbers = version.partition("_")
    if family not in NEWEST or not re.fullmatch(r"[0-9.]+", numbers):
        return False
    return tuple(map(int, numbers.split("."))) <= NEWEST[family]


def symbols(library: Path) -> dict[str, dict[str, tuple[str, int, int, bool]]]:
    """By version, the symbols that a library defines: kind, size, alignment, and whether they are weak."""
    found: dict[str, dict[str, tuple[str, int, int, bool]]] = collections.defaultdict(dict)
    with library.open("rb") as stream:
        elf = ELFFile(stream)
        definitions = elf.get_section_by_name(".gnu.version_d")
        names = {
            version["vd_ndx"]: next(iter(auxiliary)).name
            for version, auxiliary in definitions.iter_versions()
        }
        indices = elf.get_section_by_name(".gnu.version")
        for number, symbol in enumerate(elf.get_section_by_name(".dynsym").iter_symbols()):
            index = indices.get_symbol(number)["ndx"]
            if symbol["st_shndx"] in ("SHN_UNDEF", "SHN_ABS") or not isinstance(index, int):
                continue
            version = names.get(index & 0x7FFF, "")
            if index & 0x8000 == 0 and "_" in version and granted(version):
                kind = symbol["st_info"]["type"].removeprefix("STT_").lower()
                address = symbol["st_value"]
                weak = symbol["st_info"]["bind"] == "STB_WEAK"
                alignment = min(address & -address, 32) or 32
                found[version][symbol.name] = (kind, symbol["st_size"], alignment, weak)
    return found


def stub(compiler: str, library: Path, folder: Path) -> None:
    """Make a library of the same name with the symbols of `library` that are granted, and no code."""
    by_version = symbols(library)
    source = []
    for number, (name, (kind, size, alignment, weak)) in enumerate(
        item for version in sorted(by_version) for item in sorted(by_version[version].items())
    ):
        data = kind in ("object", "tls")
        source += [
            f".section {'.data' if kind != 'tls' else '.tdata'}" if data else ".text",
            f".balign {alignment if data else 4}",
            f'.{"weak" if weak else "globl"} "{name}"',
            f'.type "{name}", {"%object" if kind == "object" else "%tls_object" if data else "%function"}',
            f'.size "{name}", {size if data else 4}',
            f'"{name}": .zero {max(size if data else 4, 1)} /* {number} */',
        ]
    nodes = [
        f"{version} {{ global: {' '.join(f'{chr(34)}{name}{chr(34)};' for name in sorted(names))} }};"
        for version, names in sorted(by_version.items())
    ]
    with tempfile.TemporaryDirectory() as name:
        assembly, script = Path(name) / "stub.s", Path(name) / "stub.map"
        assembly.write_text("\n".join(source) + '\n.section .note.GNU-stack,"",%progbits\n')
        script.write_text("\n".join(nodes) + "\n")
        command = [compiler, "-shared", "-nostdlib", f"-Wl,--version-script={script}"]
        command += [f"-Wl,-soname,{library.name}", str(assembly), "-o", str(folder / library.name)]
        subprocess.run(command, check=True)


def cxx_libraries(compiler: str, folder: Path) -> None:
    rest = "-l:libstdc++.a libcompat.a AS_NEEDED ( libpthread.so.0 libdl.so.2 )"
    for name, script in {
        "libstdc++.so.6": f"INPUT ( libstdc++.so.6 {rest} )",
        "libgcc_s.so.1": "INPUT ( libgcc_s.so.1 )",
    }.items():
        answer = subprocess.run(
            [compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True
        )
        stub(compiler, Path(answer.stdout.strip()), folder)
        (folder / f"{name.split('.so')[0]}.so").write_text(script + "\n")


def compat(compiler: str, folder: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        objects = []
        for source in sorted((HERE / "compat").glob("*.c")):
            objects.append(Path(name) / f"{source.stem}.o")
            command = [
                compiler,
                "-O2",
                "-fPIC",
                "-Wall",
                "-Werror",
                "-c",
                source.name,
                "-o",
                str(objects[-1]),
            ]
            subprocess.run(command, check=True, cwd=source.parent)
        archiver = subprocess.run(
            [compiler, "-print-prog-name=ar"], capture_output=True, text=True, check=True
        )
        subprocess.run([archiver.stdout.strip(), "rcsD", str(folder / "libcompat.a"), *objects], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("machine", choices=LOADERS)
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    compiler = f"{arguments.machine}-linux-gnu-gcc"
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=arguments.output.parent) as name:  # complete or absent
        new = Path(name) / "new"
        new.mkdir()
        c_library(arguments.machine, new)
        cxx_libraries(compiler, new)
        compat(compiler, new)
        shutil.rmtree(arguments.output, ignore_errors=True)
        new.rename(arguments.output)


if __name__ == "__main__":
    main()
