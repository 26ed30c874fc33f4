"""Processes whose memory is known are looked at from outside; what cannot be known is one line."""

import json
import os
import signal
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from held_processes import preloads, running
from laboratory import call, failure, refusal, success
from subprocesses import compiled, until

from heaplab.errors import HeaplabError
from heaplab.running import target as targets
from heaplab.running.serving import serving
from heaplab.running.smaps import memory_of
from heaplab.running.target import target

MIB = 1 << 20
HELD = 40 * MIB
NOBODY = 65534
QUICK = ("--for", "50ms", "--json")

pytestmark = pytest.mark.starts_programs


def looked(pid: int, *options: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(success(call("look", *(options or QUICK), pid)))
    return found


@pytest.mark.parametrize(
    ("kind", "part"),
    [("live", "heap"), ("retained", "arenas"), ("stacks", "stacks"), ("mapped", "anonymous")],
)
def test_memory_lies_where_the_program_has_put_it(holding: Path, kind: str, part: str) -> None:
    with running(holding, kind) as pid:
        memory = looked(pid)["memory"]
    assert HELD <= memory["parts"][part] < HELD + 2 * MIB
    assert memory["parts"][part] > 0.9 * memory["bytes"]


def test_stacks_are_outside_malloc_without_a_question(holding: Path) -> None:
    with running(holding, "stacks") as pid:
        found = looked(pid)
    assert (found["verdict"], found["sure"], found["process"]["threads"]) == ("outside malloc", True, 11)


def test_what_malloc_holds_is_live_or_retained_until_it_is_asked(holding: Path) -> None:
    with running(holding, "retained") as pid:
        found = looked(pid)
    assert not found["sure"]
    assert found["sentence"].endswith(f"knows: heaplab look --ask {pid} (likely)")


def test_growth_is_told_with_its_part(holding: Path) -> None:
    with running(holding, "leak", orderly=False) as pid:
        found = looked(pid, "--for", "2s", "--json")
    [growing] = [answer for answer in (found, *found["also"]) if answer["verdict"] == "growing"]
    grown = found["memory"]["bytes"] - found["grown"]["before"]["bytes"]
    assert growing["bytes"] == grown >= MIB
    assert "of it arenas of malloc" in growing["sentence"]


def test_what_does_not_grow_is_not_said_to(holding: Path) -> None:
    with running(holding, "live") as pid:
        found = looked(pid)
    assert "growing" not in json.dumps([found["verdict"], found["also"]])


@pytest.mark.parametrize("library", preloads())
def test_a_preloaded_malloc_is_found_and_children_without_it_too(holding: Path, library: str) -> None:
    with running(holding, "child", environment={"LD_PRELOAD": library}) as pid:
        found = looked(pid)
    assert found["malloc"]["served_by"] == str(Path(library).resolve())
    [lost] = found["lost_children"]
    assert "LD_PRELOAD is missing; the C library serves its malloc" in lost


def test_a_title_over_the_environment_hides_no_malloc(holding: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = preloads()[0]
    with running(holding, "live", environment={"LD_PRELOAD": library}) as pid:
        of = target(str(pid))
        monkeypatch.setattr(Path, "read_bytes", lambda _path: b"holding: serving clients\0\0")
        found = serving(of).malloc
    assert found
    assert found.path == str(Path(library).resolve())


def test_the_c_library_serves_what_nothing_is_preloaded_into(holding: Path) -> None:
    with running(holding, "live") as pid:
        found = looked(pid)
    assert Path(found["malloc"]["served_by"]).name == "libc.so.6"
    assert found["lost_children"] == []


def test_a_static_program_is_told_and_its_memory_shown(holding_static: Path) -> None:
    with running(holding_static, "live") as pid:
        found = looked(pid)
        asked = failure(call("look", "--ask", pid))
    assert found["malloc"]["served_by"] is None
    assert "is linked statically" in found["sentence"]
    assert found["memory"]["parts"]["heap"] >= HELD
    assert "is not asked: holding_static is linked statically" in asked


def test_a_program_of_musl_is_told(tmp_path: Path) -> None:
    text = '#include <unistd.h>\nint main(void) { char c; write(1, "r\\n", 2); read(0, &c, 1); return 0; }'
    try:
        (tmp_path / "musl.c").write_text(text)
        subprocess.run(["musl-gcc", "-o", "musl", "musl.c"], cwd=tmp_path, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no musl-gcc here")
    with running(tmp_path / "musl") as pid:
        said = looked(pid)["malloc"]["fault"]
    assert "another C library than glibc" in said


def test_a_process_that_ends_meanwhile_is_one_line(holding: Path) -> None:
    with running(holding, "live", orderly=False) as pid:
        of = target(str(pid))
        os.kill(pid, signal.SIGKILL)
        until(lambda: targets.state_of(pid) == "Z", "the end of the process")
        with pytest.raises(HeaplabError, match=rf"^holding \({pid}\): has ended"):
            memory_of(of, is_glibc=True)
        assert "has ended" in failure(call("look", pid))


def test_another_program_in_the_same_process_is_not_taken_for_the_first(
    tmp_path: Path, holding: Path
) -> None:
    text = (
        '#include <unistd.h>\nint main(int n, char** w) { char c; write(1, "r\\n", 2); read(0, &c, 1);'
        " return n > 1 ? execl(w[1], w[1], NULL) : 1; }"
    )
    first = compiled(tmp_path / "first", text)
    with subprocess.Popen([first, holding], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        process.stdout.readline()
        of = target(str(process.pid))
        process.stdin.write(b"\n")
        process.stdin.flush()
        process.stdout.readline()
        with pytest.raises(HeaplabError, match="runs another program now"):
            memory_of(of, is_glibc=True)
        process.kill()


@pytest.mark.parametrize("text", ["0", "-1", "x", "4194304", ""])
def test_what_is_no_number_of_a_process_is_refused(text: str) -> None:
    assert "no number of a process; allowed is 1 to 4194303" in refusal(call("look", "--", text))


def test_a_thread_leads_to_its_process(holding: Path) -> None:
    with running(holding, "stacks") as pid:
        [thread] = [int(task) for task in os.listdir(f"/proc/{pid}/task") if int(task) != pid][:1]
        assert f"{thread} is a thread of process {pid}" in refusal(call("look", thread))


def test_a_trim_without_a_question_is_refused() -> None:
    assert "--trim asks the allocator" in refusal(call("look", "--trim", os.getpid()))


def as_nobody(what: Callable[[], object]) -> str:
    """The error of a call that another user makes."""
    readable, writable = os.pipe()
    if (child := os.fork()) == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            what()
        except HeaplabError as error:
            os.write(writable, str(error).encode())
        finally:
            os._exit(0)
    os.close(writable)
    os.waitpid(child, 0)
    with os.fdopen(readable) as stream:
        return stream.read()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_users_process_names_the_right_that_is_missing(holding: Path) -> None:
    with running(holding, "live") as pid:
        said = as_nobody(lambda: target(str(pid)))
    needs = "CAP_SYS_PTRACE, such as root has, or user root"
    assert said == f"holding ({pid}): runs as root, not as nobody: that needs {needs}"


@pytest.mark.parametrize(
    ("scope", "capable", "says"),
    [
        ("0", False, ""),
        ("1", True, ""),
        ("1", False, "kernel.yama.ptrace_scope is 1, so that tracing process 7 needs CAP_SYS_PTRACE"),
        ("2", False, "kernel.yama.ptrace_scope is 2"),
        ("3", True, "nobody may trace a process until the next boot"),
    ],
)
def test_yama_is_named_where_it_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scope: str, capable: bool, says: str
) -> None:
    (tmp_path / "scope").write_text(f"{scope}\n")
    monkeypatch.setattr(targets, "YAMA", tmp_path / "scope")
    monkeypatch.setattr(targets, "may_trace_all", lambda: capable)
    said = targets.refused_by_yama(7)
    assert says in said
    assert bool(said) == bool(says)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a namespace")
def test_a_process_in_a_container_is_looked_at_and_asked_from_inside(holding: Path, tmp_path: Path) -> None:
    """Its files are read as the container has them, under paths that are others' here."""
    inside = tmp_path / "inside"
    inside.mkdir()
    line = f"mount --bind {holding.parent} {inside} && exec {inside}/holding live"
    with running(Path("/usr/bin/unshare"), "--mount", "--pid", "--fork", "sh", "-c", line) as outer:
        [pid] = map(int, Path(f"/proc/{outer}/task/{outer}/children").read_text().split())
        found = looked(pid)
        said = failure(call("look", "--ask", pid))
    assert found["process"]["foreign_namespaces"] == ["mnt", "pid"]
    assert found["process"]["program"] == f"{inside}/holding"
    assert found["memory"]["parts"]["heap"] >= HELD
    assert Path(found["malloc"]["served_by"]).name == "libc.so.6"
    assert "is in another namespace (mnt, pid); run heaplab in its container" in said


def test_the_size_of_addresses_is_that_of_the_file(tmp_path: Path) -> None:
    header = struct.pack(
        "<4sBBB9xHHIIIIIHHHHHH", b"\x7fELF", 1, 1, 1, 2, 3, 1, 0, 0, 0, 0, 52, 32, 0, 40, 0, 0
    )
    (tmp_path / "old").write_bytes(header)
    assert targets.bits_of(tmp_path / "old") == 32
    assert targets.bits_of(Path("/proc/self/exe")) == 64
