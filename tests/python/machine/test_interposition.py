"""Which library serves malloc is proved, not assumed."""

import ctypes
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from bare_records import bare_arm
from laboratory import Laboratory, refusal
from subprocesses import HEAPLAB, compiled, executable, printed_by, ran

from heaplab.machine import elf, interposition
from heaplab.machine.execute import environment_for
from heaplab.results.records import Arm, Sample


def library_of(path: Path | None) -> Arm:
    preload = [str(path.resolve())] if path else []
    return bare_arm("x", preload=preload, build_id={name: elf.build_id(Path(name)) for name in preload})


def fault(program: str | Path, path: Path | None) -> str:
    library = library_of(path)
    environment = environment_for(library)
    return interposition.fault_of_program(
        interposition.resolve_program(str(program), environment), environment, library
    )


def build(folder: Path, source: str, *options: str) -> Path:
    return compiled(folder / "program", source, *options)


CALLS_MALLOC = "#include <stdlib.h>\nint main(int n, char** a) { return malloc(n * 100) == 0; }"
HAS_MALLOC = """
#include <stddef.h>
static char pool[1 << 20]; static size_t used;
void* malloc(size_t n) { used += n + 16; return pool + used - n - 16; }
int main(int n, char** a) { return malloc(n) == 0; }
"""


def test_a_program_that_calls_malloc_is_served(tmp_path: Path, libraries: dict[str, Path]) -> None:
    assert fault(build(tmp_path, CALLS_MALLOC), libraries["same"]) == ""


def test_a_program_that_calls_no_malloc_itself_is_served_through_its_libraries(
    tmp_path: Path, libraries: dict[str, Path]
) -> None:
    assert fault(build(tmp_path, "int main() { return 0; }"), libraries["same"]) == ""


def test_a_script_is_served_in_its_interpreter(tmp_path: Path, libraries: dict[str, Path]) -> None:
    script = executable(tmp_path / "script", "#!/usr/bin/env -S sh -e\n")
    assert fault(script, libraries["same"]) == ""
    assert interposition.interpreter_of(script) == Path("/bin/sh").resolve()


@pytest.mark.parametrize("options", [(), ("-rdynamic",), ("-rdynamic", "-s")])
def test_a_program_with_its_own_malloc_is_recognised(
    tmp_path: Path, libraries: dict[str, Path], options: tuple[str, ...]
) -> None:
    program = build(tmp_path, HAS_MALLOC, "-fno-builtin-malloc", *options)
    assert fault(program, libraries["same"]) == "program has a malloc of its own"


def test_a_library_that_comes_first_is_noticed(tmp_path: Path, libraries: dict[str, Path]) -> None:
    program = build(tmp_path, CALLS_MALLOC)
    library = library_of(libraries["same"])
    environment = environment_for(library)
    environment["LD_PRELOAD"] = f"{libraries['slow']}:{environment['LD_PRELOAD']}"
    found = interposition.fault_of_program(program, environment, library)
    assert found.startswith(f"malloc of program would be served by {libraries['slow']}, not by ")


def test_a_set_user_id_program_ignores_preloads(
    tmp_path: Path, libraries: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    program = build(tmp_path, CALLS_MALLOC)
    program.chmod(0o4755)
    monkeypatch.setattr("os.getuid", lambda: program.stat().st_uid + 1)
    monkeypatch.setattr("os.statvfs", lambda _path: SimpleNamespace(f_flag=0))
    assert fault(program, libraries["same"]) == (
        "program changes its user, group or capabilities, so the loader ignores LD_PRELOAD"
    )


@pytest.mark.parametrize(
    ("words", "status", "line"),
    [
        (["compare", "--"], 2, "heaplab: {}; compare builds of it: --arm old=COMMAND --arm new=COMMAND\n"),
        (["with", "same", "--"], 0, "heaplab: warning: {}\n"),
    ],
)
def test_a_program_that_cannot_be_served_is_told_in_one_line(
    lab: Laboratory, tmp_path: Path, words: list[str], status: int, line: str
) -> None:
    program = build(tmp_path, "int main() { return 0; }", "-static")
    command, *rest = words
    done = ran(*HEAPLAB, command, *lab.own, *rest, program, cwd=tmp_path)
    fault = "program is linked statically, so no library can be preloaded into it"
    assert (done.returncode, done.stdout, done.stderr) == (status, "", line.format(fault))


GO = """
__attribute__((section(".go.buildinfo"))) const char info[] = "go";
int main() { return info[0] != 'g'; }
"""


def test_a_program_in_go_is_told_as_one(lab: Laboratory, tmp_path: Path) -> None:
    program = build(tmp_path, GO, "-static")
    printed = refusal(lab.heaplab("compare", *lab.own, "--", program))
    assert "linked statically, so no library can be preloaded into it, and written in Go" in printed
    assert "--arm old=COMMAND" in printed


TELLS_WHETHER_SECURE = "#include <sys/auxv.h>\nint main() { return getauxval(AT_SECURE) != 0; }"
NOBODY = 65534


def as_user(user: int, ask: Callable[[], object]) -> int:
    """What `ask` returns, or what the program it becomes exits with, in a process of that user's."""
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
            os._exit(int(bool(ask())))
        finally:
            os._exit(99)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def give_up_privileges() -> None:
    pr_set_no_new_privs = 38
    ctypes.CDLL(None).prctl(pr_set_no_new_privs, 1, 0, 0, 0)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a program to another user")
@pytest.mark.parametrize("user", [0, NOBODY])
@pytest.mark.parametrize("owner", [0, NOBODY])
@pytest.mark.parametrize("mode", [0o755, 0o4755, 0o2755, 0o2745])
@pytest.mark.parametrize("given_up", [False, True])
def test_the_kernel_agrees_on_who_changes_privileges(
    user: int, owner: int, mode: int, given_up: bool
) -> None:
    def prepared(ask: Callable[[], object]) -> Callable[[], object]:
        return lambda: (given_up and give_up_privileges()) or ask()

    with tempfile.TemporaryDirectory() as name:  # pytest's own folders are closed to other users
        folder = Path(name)
        folder.chmod(0o755)
        program = build(folder, TELLS_WHETHER_SECURE)
        os.chown(program, owner, owner)
        program.chmod(mode)
        said = as_user(user, prepared(lambda: interposition.changes_privileges(program)))
        assert said == as_user(user, prepared(lambda: os.execv(program, [str(program)])))


def test_asking_the_loader_does_not_run_the_program(tmp_path: Path, libraries: dict[str, Path]) -> None:
    mark = tmp_path / "mark"
    source = f'#include <stdio.h>\nint main() {{ fopen("{mark}", "w"); return 0; }}'
    assert fault(build(tmp_path, source), libraries["same"]) == ""
    assert not mark.exists()


def sample(malloc: str, new: str, build_id: str = "") -> Sample:
    by = {"malloc": {"path": malloc, "build_id": build_id}, "operator new": {"path": new}}
    return Sample.model_validate(
        {"schema": 1, "workload": "w", "parameters": {}, "seed": 1, "metrics": {}, "served_by": by}
    )


def test_a_sample_is_judged_by_path_or_build_id(libraries: dict[str, Path]) -> None:
    same, other = str(libraries["same"]), str(libraries["slow"])
    library = library_of(libraries["same"])
    moved = sample("/elsewhere/lib.so", same, build_id=library.build_id[same])
    for good in (sample(same, same), sample(same, "/usr/lib/libstdc++.so.6"), moved):
        assert interposition.fault_of_sample(good, library) == ""
    for bad, said in (
        (sample(other, same), "malloc was served by"),
        (sample(same, other), "operator new was served by"),
        (sample("/lib/libc.so.6", same), "malloc was served by"),
    ):
        assert interposition.fault_of_sample(bad, library).startswith(said)


def test_the_baseline_must_be_served_by_the_c_library(libraries: dict[str, Path]) -> None:
    library = library_of(None)
    libc = "/lib/x86_64-linux-gnu/libc.so.6"
    assert interposition.fault_of_sample(sample(libc, libc), library) == ""
    assert interposition.fault_of_sample(sample(str(libraries["same"]), libc), library) != ""


def test_heaplab_with_runs_a_program_under_an_allocator(libraries: dict[str, Path]) -> None:
    words = ["with", "--allocator", f"mine={libraries['same']}", "mine", "--", "cat", "/proc/self/maps"]
    assert str(libraries["same"]) in printed_by(*HEAPLAB, *words)


def test_with_glibc_the_c_library_comes_before_a_library_that_is_linked() -> None:
    words = ["with", "glibc", "--", "sh", "-c", "echo $LD_PRELOAD"]
    assert printed_by(*HEAPLAB, *words) == "libc.so.6\n"
