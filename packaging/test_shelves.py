#!/usr/bin/env python3
"""Try the recipes for other shelves as far as they can be tried on Debian 12 without their repositories.

conan    builds the package and, with it, a program
vcpkg    follows the port with CMake, stand-ins for vcpkg's functions; builds a program with what it leaves.
         Not tried: vcpkg itself, which comes from GitHub alone
conda    rattler-build reads the recipe and works out its dependencies. Not tried: the build, for which it
         fetches them from conda-forge
debian   builds the packages, has lintian look at them, builds a program with what they hold, and preloads
         each malloc. Not tried: apt install
Spack comes from GitHub alone; tests/python/project/test_shelves.py reads its recipe.
Example: packaging/test_shelves.py conan vcpkg conda
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
TOOLS = ["conan==2.34.0", "py-rattler-build==0.73.0"]
PROGRAM = "packaging/conan/test_package"
# What vcpkg's functions of these names do, as far as a port of headers needs it.
STAND_INS = """
set(CURRENT_PACKAGES_DIR "${CMAKE_CURRENT_LIST_DIR}/packages")
macro(vcpkg_cmake_configure)
  cmake_parse_arguments(arg "" "SOURCE_PATH" "OPTIONS" ${ARGN})
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${arg_SOURCE_PATH} -B build ${arg_OPTIONS}
    -DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR} COMMAND_ERROR_IS_FATAL ANY)
endmacro()
macro(vcpkg_cmake_install)
  execute_process(COMMAND ${CMAKE_COMMAND} --build build --target install COMMAND_ERROR_IS_FATAL ANY)
endmacro()
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(arg "" "PACKAGE_NAME;CONFIG_PATH" "" ${ARGN})
  file(MAKE_DIRECTORY "${CURRENT_PACKAGES_DIR}/share")
  file(RENAME "${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}"
    "${CURRENT_PACKAGES_DIR}/share/${arg_PACKAGE_NAME}")
  # One folder nearer to the root of the package than it was installed to.
  file(GLOB files "${CURRENT_PACKAGES_DIR}/share/${arg_PACKAGE_NAME}/*.cmake")
  foreach(file ${files})
    file(READ "${file}" text)
    string(REPLACE "/../../../" "/../../" text "${text}")
    set(up [[get_filename_component(_IMPORT_PREFIX "${_IMPORT_PREFIX}" PATH)]])
    string(REPLACE "${up}\n${up}" "${up}" text "${text}")
    file(WRITE "${file}" "${text}")
  endforeach()
endfunction()
macro(vcpkg_fixup_pkgconfig)
endmacro()
macro(vcpkg_install_copyright)
  cmake_parse_arguments(arg "" "" "FILE_LIST" ${ARGN})
  file(COPY ${arg_FILE_LIST} DESTINATION "${CURRENT_PACKAGES_DIR}/share/heaplab-local")
endmacro()
"""


def run(*command: str | Path, **environment: str) -> None:
    subprocess.run([str(word) for word in command], check=True, env=os.environ | environment)


def tools(scratch: Path) -> Path:
    run(sys.executable, "-m", "venv", scratch / "tools")
    run(scratch / "tools/bin/pip", "install", "-q", "--disable-pip-version-check", *TOOLS)
    return scratch / "tools/bin"


def conan(scratch: Path, clone: Path) -> None:
    home = {"CONAN_HOME": str(scratch / "conan")}
    program = tools(scratch) / "conan"
    run(program, "profile", "detect", **home)
    run(program, "create", clone / "packaging/conan", "-s", "compiler.cppstd=20", "--no-remote", **home)


def vcpkg(scratch: Path, clone: Path) -> None:
    port = clone / "packaging/vcpkg/heaplab-local/portfile.cmake"
    script = scratch / "vcpkg.cmake"
    follow = f'set(CMAKE_CURRENT_LIST_DIR "{port.parent}")\ninclude("{port}")\n'
    script.write_text(STAND_INS + follow)
    subprocess.run(["cmake", "-P", str(script)], check=True, cwd=scratch)
    packages = scratch / "packages"
    for left in ("share/heaplab-local/LICENSE", "include/heaplab/local/local.h"):
        assert (packages / left).is_file(), left
    run("cmake", "-S", clone / PROGRAM, "-B", scratch / "program", f"-DCMAKE_PREFIX_PATH={packages}")
    run("cmake", "--build", scratch / "program")
    run(scratch / "program/uses_local")


def conda(scratch: Path, clone: Path) -> None:
    recipe = clone / "packaging/conda/recipe.yaml"
    script = (
        "import rattler_build, sys\n"
        "(one,) = rattler_build.Stage0Recipe.from_file(sys.argv[1]).render()\n"
        "assert one.recipe.package.version == sys.argv[2], one.recipe.package.version\n"
        "print(one.recipe.to_dict()['requirements'])\n"
    )
    version = "1.2.3"
    run(tools(scratch) / "python", "-c", script, recipe, version, HEAPLAB_VERSION=version)


def debian(scratch: Path, clone: Path) -> None:
    run(ROOT / "packaging/debian/build.sh")
    unpacked_debian(scratch, clone)


def unpacked_debian(scratch: Path, clone: Path) -> None:
    root = scratch / "root"
    for package in (ROOT / "out/debian").glob("*.deb"):
        run("dpkg-deb", "-x", package, root)
    run("cmake", "-S", clone / PROGRAM, "-B", scratch / "program", f"-DCMAKE_PREFIX_PATH={root / 'usr'}")
    run("cmake", "--build", scratch / "program")
    run(scratch / "program/uses_local")
    asked = ["pkg-config", "--cflags", "heaplab-local"]
    found = {"PKG_CONFIG_PATH": str(root / "usr/share/pkgconfig")}
    flags = subprocess.check_output(asked, text=True, env=os.environ | found).split()
    run("c++", "-std=c++20", *flags, "-fsyntax-only", clone / PROGRAM / "uses_local.cpp")
    mallocs = sorted(root.glob("usr/lib/*/heaplab/*.so"))
    assert len(mallocs) == 3, mallocs
    for malloc in mallocs:
        run("ls", "/", LD_PRELOAD=str(malloc))


SHELVES: dict[str, Callable[[Path, Path], None]] = {
    each.__name__: each for each in (conan, vcpkg, conda, debian)
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("shelves", nargs="*", help="all unless named")
    for shelf in parser.parse_args().shelves or SHELVES:
        with tempfile.TemporaryDirectory() as name:
            scratch = Path(name)
            tracked = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True).split("\0")
            for file in filter(None, tracked):
                if file.startswith(("cmake/", "include/", "packaging/", "CMakeLists.txt", "LICENSE")):
                    (scratch / "clone" / file).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(ROOT / file, scratch / "clone" / file)
            SHELVES[shelf](scratch, scratch / "clone")
        print(f"passed: {shelf}")


if __name__ == "__main__":
    main()
