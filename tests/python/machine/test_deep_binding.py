"""Programs that open libraries with RTLD_DEEPBIND are recognised when they run, under no preload."""

from pathlib import Path

import pytest
from laboratory import Laboratory, success
from subprocesses import SHARED, compiled, printed_by

from heaplab.machine import deep_binding
from heaplab.machine.execute import plain_environment

PLUGIN = "#include <stdlib.h>\nvoid release(void* block) { free(block); }\n"
PROGRAM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
int main(int count, char** words) {
  void* const plugin = dlopen(words[1], RTLD_NOW | (count > 2 ? RTLD_DEEPBIND : 0));
  if (plugin == NULL) return 3;
  ((void (*)(void*))dlsym(plugin, "release"))(malloc(100));
  return 0;
}
"""


@pytest.fixture(scope="module", name="program")
def fixture_program(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command of a program that frees in a plugin; another word makes it open that with RTLD_DEEPBIND."""
    folder = tmp_path_factory.mktemp("plugin")
    compiled(folder / "plugin", PLUGIN, *SHARED)
    compiled(folder / "symbolic", PLUGIN, *SHARED, "-Wl,-Bsymbolic")
    compiled(folder / "program", PROGRAM)
    return [str(folder / "program"), str(folder / "plugin")]


def test_the_library_is_named(program: list[str], tmp_path: Path) -> None:
    found = deep_binding.deep_bound([*program, "deep"], plain_environment(), tmp_path, 30)
    assert found == [program[1]]
    assert deep_binding.warning(found).startswith(f"{program[1]}: opened with RTLD_DEEPBIND")
    assert "and 1 more:" in deep_binding.warning([*found, "other"])


def test_in_a_child_too(program: list[str], tmp_path: Path) -> None:
    command = ["/bin/sh", "-c", '"$@"; :', "sh", *program, "deep"]
    assert deep_binding.deep_bound(command, plain_environment(), tmp_path, 30) == [program[1]]


def test_a_library_opened_plainly_is_not(program: list[str], tmp_path: Path) -> None:
    assert deep_binding.deep_bound(program, plain_environment(), tmp_path, 30) == []
    assert deep_binding.warning([]) == ""


def test_a_library_linked_symbolically_finds_malloc_where_the_process_does(
    program: list[str], tmp_path: Path
) -> None:
    symbolic = str(Path(program[1]).with_name("symbolic"))
    assert "SYMBOLIC" in printed_by("readelf", "-d", symbolic)
    for number, (words, found) in enumerate([([], []), (["deep"], [symbolic])]):
        folder = tmp_path / str(number)
        folder.mkdir()
        command = [program[0], symbolic, *words]
        assert deep_binding.deep_bound(command, plain_environment(), folder, 30) == found


def test_a_program_that_does_not_end_is_looked_at_for_a_time(tmp_path: Path) -> None:
    assert deep_binding.deep_bound(["sleep", "1000"], plain_environment(), tmp_path, 0.2) == []


def test_doctor_tells(lab: Laboratory, program: list[str]) -> None:
    printed = success(lab.heaplab("doctor", "--", *program, "deep"))
    assert "RTLD_DEEPBIND, so it frees" in " ".join(printed.split())
    _, printed = lab.heaplab("doctor", "--json", "--", *program)
    assert "opens no library with RTLD_DEEPBIND" in printed


def test_compare_warns_in_one_line(lab: Laboratory, libraries: dict[str, Path], program: list[str]) -> None:
    name = next(iter(libraries))
    words = ["--allocator", f"{name}={libraries[name]}", "--budget", "2s", "--warm", "1B", "-o", lab.out]
    _, printed = lab.heaplab("compare", *words, "--", *program, "deep")
    lines = [line for line in printed.splitlines() if "RTLD_DEEPBIND" in line]
    assert len(lines) == 1, printed
    assert f"warning: {program[1]}: opened with RTLD_DEEPBIND" in lines[0]
