"""Programs that run for milliseconds without the recorder are named: no look from outside need meet them."""

import os
from pathlib import Path

import pytest
from laboratory import called
from subprocesses import compiled, heaplab

from heaplab.machine.coverage.unseen import CLEARED
from heaplab.traces import tool, trace_coverage

pytestmark = pytest.mark.starts_programs

WAYS = (
    *("execve", "vfork", "execle", "fexecve", "execvpe", "execv", "execl", "execvp", "execlp"),
    *("posix_spawn", "posix_spawnp"),
)
QUICK = "#include <stdlib.h>\nint main(void) { return malloc(10) == NULL; }"


@pytest.fixture(scope="module")
def executes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    text = (Path(__file__).parent / "executes.c").read_text()
    return compiled(tmp_path_factory.mktemp("coverage") / "executes", text)


@pytest.fixture
def quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    return compiled(tmp_path / "quick", QUICK)


def named(folder: Path, *command: object) -> set[str]:
    """Why programs were not seen."""
    heaplab(folder, "record", "-o", "x.trace", "--", *command).check_returncode()
    return {each.unseen for each in trace_coverage.at_peaks(tool.summary(folder / "x.trace")) if each.unseen}


def test_each_way_to_execute_with_a_cleared_environment_is_noted(
    tmp_path: Path, executes: Path, quick: Path
) -> None:
    for way in WAYS:
        (tmp_path / f"by_{way}").hardlink_to(quick)
    lines = [f"{executes} $PWD/by_{way} {way} || exit" for way in WAYS]
    found = named(tmp_path, "sh", "-c", "\n".join(lines))
    assert found == {f"by_{way}: {CLEARED}" for way in WAYS}


@pytest.mark.parametrize("way", ["system", "popen"])
def test_a_shell_of_the_c_librarys_is_noted(tmp_path: Path, executes: Path, quick: Path, way: str) -> None:
    assert named(tmp_path, "sh", "-c", f"{executes} {quick} {way}; true") == {f"sh: {CLEARED}"}


def test_a_program_that_the_recorder_is_led_into_is_not_named(
    tmp_path: Path, executes: Path, quick: Path
) -> None:
    assert named(tmp_path, executes, quick, "kept") == set()


def test_a_recording_without_calls_says_why(tmp_path: Path, executes: Path, quick: Path) -> None:
    done = heaplab(tmp_path, "record", "-o", "x.trace", "--", executes, quick, "execve")
    why = f"nothing was recorded: no process called malloc; quick: {CLEARED}"
    assert (done.returncode, done.stderr) == (0, f"heaplab: x.trace: {why}\n")


def test_the_kind_of_a_file_is_the_reason_also_of_a_script(tmp_path: Path, quick: Path) -> None:
    loader = tmp_path / "ld-musl-x86_64.so.1"
    loader.symlink_to("/lib64/ld-linux-x86-64.so.2")
    compiled(tmp_path / "other", QUICK, f"-Wl,--dynamic-linker={loader}")
    compiled(tmp_path / "still", QUICK, "-static")
    script = tmp_path / "script"
    script.write_text(f"#!{tmp_path}/still\n")
    script.chmod(0o755)
    found = named(tmp_path, "sh", "-c", "./other; ./script; ./script; ./nowhere; true")
    whole = "still (which runs script) is linked"
    assert {why.replace("still is linked", whole) for why in found} == {  # if a look met its process
        f"other has another C library than glibc (its loader is {loader.name}), "
        "which preloaded libraries need",
        f"{whole} statically, so no library can be preloaded into it",
    }
    assert len(found) == 2  # one line for each of the two programs, whether or not it was seen while it ran
    said = called(tmp_path, "trace", "x.trace")
    assert "; 2 programs not seen" in " ".join(said.stdout.split())
    assert "; nothing of its memory is known here" in said.stderr


def test_compare_names_what_runs_without_its_arms(tmp_path: Path, quick: Path) -> None:
    arms = ("--allocators", "glibc,scalloc", "--budget", "9s", "-o", "out", "--warm", "1B")
    said = called(tmp_path, "compare", *arms, "--", "env", "-i", quick).stdout
    assert f"quick: {CLEARED}" in " ".join(said.split())
