"""`--no-deep-binding`: programs that open libraries with RTLD_DEEPBIND run under other mallocs."""

import shutil
from pathlib import Path

import pytest
from laboratory import Laboratory, refusal, success
from subprocesses import HEAPLAB, SHARED, compiled, ran

PLUGIN = "#include <stdlib.h>\nvoid release(void* block) { free(block); }\n"
# Finds the plugin by its own DT_RUNPATH, as the loader does for whoever calls dlopen.
PROGRAM = """
#include <dlfcn.h>
#include <stdlib.h>
int main(void) {
  void* const plugin = dlopen("libplugin.so", RTLD_NOW | RTLD_DEEPBIND);
  if (plugin == NULL) return 3;
  for (int i = 0; i < 100; ++i) ((void (*)(void*))dlsym(plugin, "release"))(malloc(100 + i));
  return 0;
}
"""


@pytest.fixture(scope="module", name="program")
def fixture_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("deep")
    compiled(folder / "libplugin.so", PLUGIN, "-O1", *SHARED)
    return compiled(folder / "program", PROGRAM, "-D_GNU_SOURCE", "-O1", f"-Wl,-rpath,{folder}")


def run_with(*words: object) -> int:
    """The exit status of `heaplab with`, which becomes the program."""
    return ran(*HEAPLAB, "with", *words).returncode


@pytest.mark.starts_programs
def test_the_program_runs_under_another_malloc(program: Path) -> None:
    assert run_with("scalloc", "--", program) != 0
    assert run_with("--no-deep-binding", "scalloc", "--", program) == 0
    assert run_with("--no-deep-binding", "glibc", "--", program) == 0


@pytest.mark.starts_programs
def test_compare_measures_it_and_warns_no_more(lab: Laboratory, program: Path) -> None:
    words = ["--allocators", "glibc,scalloc", "--budget", "6s", "--warm", "1B", "-o", lab.out]
    printed = success(lab.heaplab("compare", "--no-deep-binding", *words, "--", program))
    assert "RTLD_DEEPBIND" not in printed
    results = lab.results()
    others = [run.reason for run in results.runs if run.status != "ok"]
    assert len(others) < len(results.runs)
    assert all("so it was repeated" in reason for reason in others), others
    assert all("no_deep_binding" in arm.beside[0] for arm in results.libraries.values())


@pytest.mark.starts_programs
@pytest.mark.skipif(not shutil.which("php"), reason="php is not here")
def test_php_runs() -> None:
    code = "echo strlen(json_encode(range(1, 1000)));"
    assert run_with("--no-deep-binding", "scalloc", "--", "php", "-r", code) == 0


def test_without_a_program_it_is_one_line(lab: Laboratory) -> None:
    assert "--no-deep-binding goes with a program" in refusal(lab.heaplab("compare", "--no-deep-binding"))
