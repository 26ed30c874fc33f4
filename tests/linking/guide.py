#!/usr/bin/env python3
"""Follow the section of the guide that brings the local allocators into a project, block by block.

Shell blocks run one after the other, in a checkout and beside the program. Each CMake block is the end of a
project of its own, on a machine without CLI11. Usage: guide.py SCRATCH-FOLDER
"""

import os
import re
import shutil
import sys
from pathlib import Path

from commands import needed, output_of

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs/local-allocators.md"
PROGRAMS = Path(__file__).parent / "user_project"
BEGINNING = """cmake_minimum_required(VERSION 3.25)
project(mine LANGUAGES CXX)
add_executable(my_program my_program.cpp)
"""
# A library that other projects are to find, with an allocator of heaplab in its interface.
LIBRARY_TO_INSTALL = """set(HEAPLAB_INSTALL ON)
add_subdirectory(third_party/heaplab)
target_link_libraries(my_program PRIVATE heaplab::local)
add_library(my_library INTERFACE)
target_link_libraries(my_library INTERFACE heaplab::local)
install(TARGETS my_library EXPORT my_targets)
install(EXPORT my_targets DESTINATION lib/cmake/mine)
"""


def blocks(language: str) -> list[str]:
    """Return the blocks of a language in the section."""
    section = re.search(r"^## Into your project\n(.*?)^## ", GUIDE.read_text(encoding="utf-8"), re.M | re.S)
    found = re.findall(rf"^```{language}\n(.*?)^```$", section[1] if section else "", re.M | re.S)
    return found or sys.exit(f"{GUIDE}: no {language} block")


def checkout(folder: Path) -> Path:
    """Return a folder with what the repository has, to be built in."""
    folder.mkdir(parents=True)
    for name in ("CMakeLists.txt", "cmake", "include", "src", "catalog", "tests"):
        (folder / name).symlink_to(ROOT / name)
    return folder


def project(folder: Path, program: str, end: str = "") -> Path:
    """Return the folder of a project whose program is to be brought together with heaplab."""
    folder.mkdir(parents=True)
    shutil.copy(PROGRAMS / program, folder / "my_program.cpp")
    (folder / "CMakeLists.txt").write_text(BEGINNING + end)
    (folder / "third_party").mkdir()
    (folder / "third_party/heaplab").symlink_to(ROOT)
    return folder


def build(folder: Path, home: Path) -> None:
    """Build the project, run its program and install it to a folder of its own."""
    result = folder / "build"
    output_of(
        *("cmake", "-G", "Ninja", "-S", folder, "-B", result),
        *(f"-DCMAKE_PREFIX_PATH={home}/.local", f"-DFETCHCONTENT_SOURCE_DIR_HEAPLAB={ROOT}"),
        "-DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON",
    )
    output_of("cmake", "--build", result, "-j", str(os.cpu_count()))
    output_of(result / "my_program")
    output_of("cmake", "--install", result, "--prefix", folder / "installed")


def check(folder: Path, with_library: bool) -> None:
    """Fail unless what the project links is built, and nothing else of heaplab is there."""
    result = folder / "build"
    built = {file.name for file in result.rglob("libheaplab*")}
    if built != ({"libheaplab_llheap.so"} if with_library else set()):
        sys.exit(f"{folder}: built {sorted(built)}")
    folders = (result / "CMakeFiles/TargetDirectories.txt").read_text().split()
    targets = {Path(target).stem for target in folders}
    if "acdc" in targets or (not with_library and any(target.startswith("heaplab") for target in targets)):
        sys.exit(f"{folder}: defines {sorted(targets)}")
    if with_library and "libheaplab_llheap.so" not in needed(result / "my_program"):
        sys.exit(f"{folder}: the library is not linked")
    if (folder / "installed").exists():
        sys.exit(f"{folder}: something is installed")


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    scratch = Path(sys.argv[1])
    shutil.rmtree(scratch, ignore_errors=True)
    home = scratch / "home"
    places = (checkout(scratch / "checkout"), project(scratch / "shell", "local_program.cpp"))
    for place, commands in zip(places, blocks("sh"), strict=True):
        output_of("sh", "-euc", commands, folder=place, HOME=home)
    output_of(places[1] / "my_program")
    for number, block in enumerate(blocks("cmake")):
        with_library = "heaplab::llheap" in block
        program = "cxx_program.cpp" if with_library else "local_program.cpp"
        mine = project(scratch / f"cmake{number}", program, block)
        build(mine, home)
        check(mine, with_library)
    mine = project(scratch / "to_install", "local_program.cpp", LIBRARY_TO_INSTALL)
    build(mine, home)
    if not (mine / "installed/lib/cmake/heaplab/heaplabConfig.cmake").exists():
        sys.exit(f"{mine}: heaplab is not installed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
