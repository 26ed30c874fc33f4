"""What makes the wheel start with old libraries, and the container's steps. `make release` tries the rest."""

import ast
import importlib.util
import platform
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
from elftools.elf.elffile import ELFFile

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
WHEEL = ROOT / "packaging" / "wheel"
PREFIX = f"{platform.machine()}-linux-gnu-"
NEWER = """
#include <charconv>
#include <filesystem>
#include <iostream>
#include <memory>
#include <sstream>
int main() {
  std::stringstream text;
  char digits[40];
  auto [end, _] = std::to_chars(digits, digits + sizeof digits, 0.5);
  text << std::filesystem::path("/tmp").filename().string() << ' ' << std::string(digits, end);
  try {
    throw *std::make_unique<int>(7);
  } catch (int thrown) {
    std::cout << text.str() << ' ' << thrown << std::endl;
  }
}
"""
SINGLE = "#include <sys/single_threaded.h>\nint alone(void) { return __libc_single_threaded; }\n"


def module_of(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def needed_versions(path: Path) -> dict[str, set[str]]:
    """By library, the versions of symbols that a file needs."""
    with path.open("rb") as stream:
        section = ELFFile(stream).get_section_by_name(".gnu.version_r")
        return {
            library.name: {version.name for version in versions}
            for library, versions in section.iter_versions()
        }


def undefined(path: Path) -> dict[str, str]:
    """The binding of each symbol that the loader must find elsewhere."""
    with path.open("rb") as stream:
        symbols = ELFFile(stream).get_section_by_name(".dynsym").iter_symbols()
        return {
            symbol.name: symbol["st_info"]["bind"] for symbol in symbols if symbol["st_shndx"] == "SHN_UNDEF"
        }


def test_a_program_needs_no_newer_cxx_library_and_leaves_new_to_the_preloaded_malloc(tmp_path: Path) -> None:
    libraries = module_of(WHEEL / "old_libraries.py")
    stubs = tmp_path / "stubs"
    stubs.mkdir()
    libraries.cxx_libraries(f"{PREFIX}gcc", stubs)
    libraries.compat(f"{PREFIX}gcc", stubs)
    (tmp_path / "newer.cpp").write_text(NEWER)
    command = [f"{PREFIX}g++", "-std=c++20", f"-B{stubs}", "newer.cpp", "-o", "newer"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert subprocess.check_output([tmp_path / "newer"], text=True) == "tmp 0.5 7\n"
    needed = needed_versions(tmp_path / "newer")
    versions = {
        tuple(map(int, re.findall("[0-9]+", name))) for name in needed["libstdc++.so.6"] if "GLIBCXX" in name
    }
    assert max(versions) <= (3, 4, 24)
    assert undefined(tmp_path / "newer")["_Znwm"] == "STB_GLOBAL"


def test_a_library_asks_whether_one_thread_runs_also_where_the_c_library_does_not_tell(
    tmp_path: Path,
) -> None:
    (tmp_path / "single.c").write_text(SINGLE)
    options = ["-shared", "-fPIC", f"-isystem{WHEEL / 'include'}"]
    subprocess.run([f"{PREFIX}gcc", *options, "single.c", "-o", "single.so"], cwd=tmp_path, check=True)
    assert undefined(tmp_path / "single.so")["__libc_single_threaded"] == "STB_WEAK"
    code = f"import ctypes; print(ctypes.CDLL('{tmp_path / 'single.so'}').alone())"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "1\n"


def test_every_step_of_the_containerfile_can_be_followed() -> None:
    container = module_of(ROOT / "packaging/container/test.py")
    steps = container.instructions((ROOT / "packaging/container/Containerfile").read_text())
    [*_, use] = container.hooks(steps, ["doctor"])
    assert "su heaplab" in use
    assert "cd /work && /opt/heaplab/bin/heaplab doctor" in use
    with pytest.raises(SystemExit, match="ADD is not followed"):
        container.hooks([("ADD", "a b")], [])


def test_the_version_stands_in_one_place() -> None:
    version = re.findall(r"project\(heaplab VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())
    assert len(version) == 1
    project = (ROOT / "pyproject.toml").read_text()
    assert 'dynamic = ["version"]' in project
    assert version[0] not in (ROOT / "CITATION.cff").read_text()
    assert re.search(rf"^## .*{re.escape(version[0])}", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)


def imported(source: Path) -> set[str]:
    """The packages that a file imports, wherever in it."""
    names = set()
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or "").partition(".")[0])
    return names


def test_the_wheel_asks_for_what_it_imports() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = {requirement.split(">=")[0] for requirement in project["dependencies"]}
    asked = asked - {"pyelftools"} | {"elftools"}
    files = (ROOT / "python/heaplab").rglob("*.py")
    needed = set().union(*map(imported, files)) - sys.stdlib_module_names - {"heaplab"}
    assert needed - {"markupsafe", "pydantic_core"} == asked  # parts of jinja2 and pydantic
