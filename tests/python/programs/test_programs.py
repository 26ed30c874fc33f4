"""Real programs: prepared once, run in a folder of their own, and a wrong result is found."""

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from bare_records import bare_arm
from conftest import EXPERIMENT
from laboratory import WARM, Laboratory
from subprocesses import HEAPLAB, HEEDING, SHARED, compiled, executable, gone, until, written

from heaplab.catalog import contents as catalogs
from heaplab.errors import HeaplabError, UsageError
from heaplab.machine import interposition
from heaplab.machine.execute import alone, environment_for, plain_environment
from heaplab.machine.watch import Limits
from heaplab.programs import INPUTS, CheckedExecution, PreparedProgram
from heaplab.results.records import Status
from heaplab.results.spec import Fixture, Workload

LIMITS = Limits(time=20)
PROGRAMS = [work for work in catalogs.load().workloads.values() if work.kind == "program" and not work.server]

GROWS = """
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  char* text = malloc(1);
  for (int i = 0; i < 2000; i++) { text = realloc(text, i + 1); text[i] = 'a' + i % 26; }
  return fwrite(text, 1, 2000, stdout) != 2000;
}
"""
FORGETS = """
#include <stddef.h>
extern void* __libc_realloc(void*, size_t);
void* realloc(void* old, size_t size) {
  char* block = __libc_realloc(old, size);
  if (size > 1000) block[500] = '!';
  return block;
}
"""


def job(command: Sequence[str], input: str = "perl_script", **fixture: object) -> PreparedProgram:
    return PreparedProgram(Fixture(package="none", input=input, **fixture), command, LIMITS)


def run(job: PreparedProgram, **environment: str) -> CheckedExecution:
    return alone(job.run({**plain_environment(), **environment}, LIMITS, errors=subprocess.DEVNULL))


@pytest.mark.parametrize("name", sorted(set(INPUTS) - {"git_history", "postgres_cluster", "empty_folder"}))
def test_an_input_is_always_the_same(name: str, tmp_path: Path) -> None:
    contents = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        folder.mkdir()
        INPUTS[name](folder)
        contents.append({path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()})
    assert contents[0] == contents[1]
    assert contents[0]


def test_a_heap_that_loses_contents_is_found(tmp_path: Path) -> None:
    work = job([str(compiled(tmp_path / "grows", GROWS, "-fno-builtin"))])
    assert run(work).fault == ""
    broken = compiled(tmp_path / "forgets.so", FORGETS, "-fno-builtin", *SHARED)
    execution, fault = run(work, LD_PRELOAD=str(broken))
    assert execution.exit_status == 0
    assert fault == "its standard-output is not what it writes without the library"


def test_a_result_in_a_file_is_compared_and_must_be_there() -> None:
    work = job(["sh", "-c", '[ "$LEAVE" = no ] || echo "$TEXT" >found'], output="found")
    assert run(work).fault == ""
    assert run(work, TEXT="other").fault == "its found is not what it writes without the library"
    assert run(work, LEAVE="no").fault == "it left no file found"


def test_every_run_has_a_fresh_copy_of_the_input() -> None:
    work = job(["sh", "-c", "cat work.pl; echo more >>work.pl; touch new; ls"])
    assert [run(work).fault for _ in range(2)] == ["", ""]


def test_the_environment_of_the_fixture_wins() -> None:
    work = job(["sh", "-c", 'echo "$COLOUR"'], environment={"COLOUR": "red"})
    assert run(work, COLOUR="blue").fault == ""


def test_what_cannot_work_is_told_before_anything_is_measured() -> None:
    with pytest.raises(HeaplabError, match=r"^false: fails without any library preloaded: exit status 1$"):
        job(["false"])
    with pytest.raises(UsageError, match=r"no input 'nothing'; known: .*json_orders"):
        job(["true"], input="nothing")
    with pytest.raises(UsageError, match=r"^no-such-command: no such program$"):
        job(["true"], needs=["no-such-command"])
    message = r"^sleep: fails without any library preloaded: not done after 0.1 s$"
    with pytest.raises(HeaplabError, match=message):
        PreparedProgram(Fixture(package="none", input="perl_script"), ["sleep", "9"], Limits(time=0.1))


PROGRAM_CARD = """
title = "a program"
kind = "program"
program = "{program}"
metrics = {{}}
[fixture]
package = "some-package"
input = "perl_script"
{more}
[card]
source = "a test"
shows = "nothing"
does_not_show = "anything"
defaults = "none"
"""


def plant(lab: Laboratory, program: str, more: str = "", name: str = "fake", experiment: str = "one") -> None:
    """Write a workload that is a program, and its experiment, into a catalog of the test's own."""
    lab.catalog = shutil.copytree(lab.catalog, lab.out.with_name("catalog"))
    card = PROGRAM_CARD.format(program=program, more=more)
    text = EXPERIMENT.replace("sweep = { size = [1, 2] }\n", "").replace('["time"]', '["wall_time"]')
    text = text.replace('workload = "fake"', f'workload = "{name}"')
    written(lab.catalog, {f"workloads/{name}.toml": card, f"experiments/fake/{experiment}.toml": text})


def test_a_program_that_is_not_here_is_left_out_before_measuring(lab: Laboratory) -> None:
    plant(lab, "no-such-program", name="absent", experiment="absent")
    status, printed = lab.heaplab("compare", "--experiment", "fake", *lab.own, *WARM, "-o", lab.out)
    why = "fake/absent (no no-such-program, see Debian's package some-package)"
    assert f"heaplab: left out, for want of a program: {why}\n" in printed
    assert (status, {run.experiment for run in lab.results().runs}) == (0, {"fake/one"})


def test_programs_that_are_all_not_here_are_named(lab: Laboratory) -> None:
    plant(lab, "no-such-program")
    status, printed = lab.run("--allocators", "glibc,same")
    assert (status, lab.out.exists()) == (2, False)
    assert printed.startswith("heaplab: not on this machine: fake/one (no no-such-program")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_nothing_is_left_of_a_server_when_heaplab_is_told_to_end(
    lab: Laboratory, tmp_path: Path, number: signal.Signals
) -> None:
    server, marks, temporary = tmp_path / "server", tmp_path / "marks", tmp_path / "temporary"
    marks.mkdir()
    temporary.mkdir()
    script = f"echo $$ >{marks}/%s.new; mv {marks}/%s.new {marks}/%s; exec sleep 60"
    executable(server, "#!/bin/sh\n" + script.replace("%s", "server"))
    load = json.dumps(script.replace("%s", "load"))
    plant(lab, str(server), f'[server]\nready = "test -e {marks}/server"\nload = {load}\ntake = ["wrk"]')
    words = ("compare", "--experiment", "fake/one", "--allocators", "glibc", *WARM, "-o", str(lab.out))
    command = [*HEEDING, *HEAPLAB, "--catalog", str(lab.catalog), *words]
    around = {**os.environ, "TMPDIR": str(temporary)}
    child = subprocess.Popen(command, env=around, stderr=subprocess.PIPE, text=True)
    until(lambda: len([path for path in marks.iterdir() if not path.suffix]) == 2, "server and load run")
    child.send_signal(number)
    _, errors = child.communicate(timeout=30)
    until(lambda: all(gone(mark.read_text().strip()) for mark in marks.iterdir()), "both are gone")
    if number is not signal.SIGKILL:  # then nobody is left to remove the folder
        assert child.returncode == 1, errors
        assert "interrupted; resume with: " in errors
        assert list(temporary.iterdir()) == []


def test_a_program_that_fails_by_itself_is_skipped(lab: Laboratory) -> None:
    plant(lab, "false")
    lab.run("--allocators", "glibc,same")
    (reason,) = {run.reason for run in lab.results().runs}
    assert reason.endswith("false: fails without any library preloaded: exit status 1")


def test_a_wrong_result_is_a_failed_run(lab: Laboratory, tmp_path: Path) -> None:
    plant(lab, str(compiled(tmp_path / "grows", GROWS, "-fno-builtin")))
    forgets = FORGETS + "void* malloc(size_t n) {return __libc_realloc(0, n);}"
    broken = compiled(tmp_path / "forgets.so", forgets, "-fno-builtin", *SHARED)
    lab.run("--allocator", f"broken={broken}", "--allocators", "glibc,broken")
    assert len(lab.good("glibc")) >= 5
    assert {run.status for run in lab.results().runs if run.allocator == "broken"} == {Status.FAILED}


def test_the_c_library_serves_a_program_linked_with_another_malloc(
    lab: Laboratory, libraries: dict[str, Path], tmp_path: Path
) -> None:
    linked = compiled(tmp_path / "linked", GROWS, "-fno-builtin", str(libraries["slow"]))
    plain = bare_arm("glibc")
    fault = interposition.fault_of_program(linked, environment_for(plain), plain)
    assert fault == f"malloc of linked would be served by {libraries['slow']}, not by the C library"
    plant(lab, str(linked))
    lab.run("--allocators", "glibc,same")
    assert len(lab.good("glibc")) == len(lab.good("same")) >= 5


def test_a_program_keeps_the_name_it_is_called_by(tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to("/bin/sh")
    assert interposition.resolve_program(str(tmp_path / "alias"), {}).name == "alias"


@pytest.mark.slow
@pytest.mark.parametrize(
    "work",
    [
        pytest.param(work, marks=[pytest.mark.long] if work.id.startswith("git") else [], id=work.id)
        for work in PROGRAMS
    ],
)
def test_a_program_of_the_catalog_always_writes_the_same(work: Workload) -> None:
    program = shutil.which(work.program)
    if program is None:
        pytest.skip(f"Debian's package {work.fixture.package} is not here")
    again = PreparedProgram(work.fixture, [program, *work.arguments], Limits(time=work.timeout_s))
    execution, fault = run(again)
    assert (execution.exit_status, fault) == (0, "")
