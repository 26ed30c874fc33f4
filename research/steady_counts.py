#!/usr/bin/env python3
"""Print the table of docs/steady-counts.md: how far the instruction counts of benchmarks lie apart.

The benchmarks are those of research/steady_counts.cpp: twenty of libraries that Debian packages, and six of
crates. Each runs under callgrind after ten histories of the heap, under the C library's malloc and under each
LIBRARY. cargo must be here, and the headers of the libraries installed:

    apt install g++ pkg-config valgrind libcjson-dev libcmark-dev libexpat1-dev libfmt-dev libgmp-dev \\
      libglib2.0-dev libjansson-dev liblua5.4-dev libpcre2-dev libpugixml-dev libre2-dev libsqlite3-dev \\
      libtinyxml2-dev libxml2-dev libyaml-cpp-dev libyaml-dev libzstd-dev nlohmann-json3-dev \\
      rapidjson-dev zlib1g-dev

Example: research/steady_counts.py libmimalloc.so.2 build/release/lib/libheaplab_steady.so
"""

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).with_suffix(".cpp")
CRATES = Path(__file__).with_name("steady_counts_crates")
PACKAGES = (
    "libcjson fmt gmpxx glib-2.0 jansson libxml-2.0 yaml-0.1 lua5.4 libpcre2-8 pugixml re2 sqlite3 tinyxml2"
)
PACKAGES += " yaml-cpp zlib libzstd libcmark expat RapidJSON nlohmann_json"

Counts = dict[str, list[int]]  # of each benchmark, after each history


def built(folder: Path) -> Path:
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", *PACKAGES.split()], check=True, capture_output=True, text=True
    ).stdout
    # Some packages name the folder of their headers, and some the folder above.
    command = [
        "g++",
        "-std=c++20",
        "-O2",
        "-DPCRE2_CODE_UNIT_WIDTH=8",
        "-I/usr/include/cjson",
        "-I/usr/include/lua5.4",
    ]
    program, crates = folder / "benchmarks", shutil.copytree(CRATES, folder / CRATES.name)
    subprocess.run(["cargo", "build", "--quiet", "--release"], cwd=crates, check=True)
    archive = crates / "target" / "release" / f"lib{CRATES.name}.a"
    subprocess.run([*command, SOURCE, "-o", program, archive, *shlex.split(flags)], check=True)
    return program


def counts(program: Path, library: str) -> Counts:
    result: Counts = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="heaplab-") as folder:
        command = [
            "valgrind",
            "--tool=callgrind",
            "--quiet",
            f"--callgrind-out-file={folder}/counts.%p",
            program,
        ]
        subprocess.run(command, check=True, env=os.environ | {"LD_PRELOAD": library})
        for path in Path(folder).iterdir():
            text = path.read_text()
            name = re.search(r"Client Request: (\S+)", text)
            total = re.search(r"^totals: (\d+)", text, re.MULTILINE)
            if name and total and name[1] != "prepared":
                result[name[1]].append(int(total[1]))
    return result


def spread(totals: list[int]) -> str:
    return f"{(max(totals) - min(totals)) / min(totals):.4%}".replace("%", " %")


def main() -> None:
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("libraries", nargs="+", metavar="LIBRARY")
    libraries = parser.parse_args().libraries
    with tempfile.TemporaryDirectory(prefix="heaplab-") as folder:
        program = built(Path(folder))
        columns = [counts(program, library) for library in ["", *libraries]]
    print(
        "| library |",
        " | ".join(["glibc", *(Path(library).name for library in libraries)]),
        "| instructions |",
    )
    print("|---" * (len(columns) + 2) + "|")
    for name in sorted(columns[0], key=str.casefold):
        print(
            f"| {name} |",
            " | ".join(spread(column[name]) for column in columns),
            f"| {min(columns[-1][name]) / 1e6:.1f} M |",
        )


if __name__ == "__main__":
    main()
