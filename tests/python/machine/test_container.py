"""What a container changes is recognised: in roots of files as kernels show them, under limits made here."""

import contextlib
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from subprocesses import HEAPLAB, printed_by, ran, written

from heaplab.inventory import run_doctor
from heaplab.machine import container, host

GIB = 1 << 30
V2_MOUNT = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n"
V1_UNLIMITED = "9223372036854771712\n"


def test_version_2_as_a_container_sees_it(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "0::/\n",
        "proc/self/mountinfo": V2_MOUNT,
        "proc/self/status": "Name:\tx\nSeccomp:\t2\n",
        "sys/fs/cgroup/memory.max": f"{GIB}\n",
        "sys/fs/cgroup/memory.current": f"{GIB // 2}\n",
        "sys/fs/cgroup/memory.stat": f"anon 1\ninactive_file {GIB // 4}\n",
        "sys/fs/cgroup/cpu.max": "150000 100000\n",
        "run/.containerenv": "",
    }
    root = written(tmp_path, files)
    assert container.limits(root) == container.GroupLimits(GIB, GIB * 3 // 4, 1.5)
    assert (container.seccomp(root), container.kind(root)) == ("filtered", "podman")


def test_version_2_takes_the_tightest_limit_from_the_own_group_up(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "0::/a.slice/b.scope\n",
        "proc/self/mountinfo": V2_MOUNT,
        "sys/fs/cgroup/a.slice/memory.max": f"{GIB}\n",
        "sys/fs/cgroup/a.slice/memory.current": f"{GIB}\n",
        "sys/fs/cgroup/a.slice/cpu.max": "50000 100000\n",
        "sys/fs/cgroup/a.slice/b.scope/memory.max": f"{4 * GIB}\n",
        "sys/fs/cgroup/a.slice/b.scope/memory.current": "0\n",
        "sys/fs/cgroup/a.slice/b.scope/cpu.max": "max 100000\n",
    }
    root = written(tmp_path, files)
    assert container.limits(root) == container.GroupLimits(GIB, 0, 0.5)
    assert container.times_throttled(root) is None
    written(root, {"sys/fs/cgroup/a.slice/memory.events": "low 1\nhigh 3\nmax 9\n"})
    written(root, {"sys/fs/cgroup/a.slice/b.scope/memory.events": "low 1\nhigh 4\nmax 9\n"})
    assert container.times_throttled(root) == 7


def test_version_1_under_a_path_that_only_the_host_knows(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "4:memory:/docker/0123\n2:cpu,cpuacct:/docker/0123\n0::/\n",
        "proc/self/mountinfo": (
            "31 2 0:3 /docker/0123 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
            "32 2 0:4 /docker/0123 /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n"
        ),
        "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{2 * GIB}\n",
        "sys/fs/cgroup/memory/memory.usage_in_bytes": f"{GIB}\n",
        "sys/fs/cgroup/memory/memory.stat": "inactive_file 5\ntotal_inactive_file 0\n",
        "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "200000\n",
        "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
        ".dockerenv": "",
    }
    root = written(tmp_path, files)
    assert container.limits(root) == container.GroupLimits(2 * GIB, GIB, 2.0)
    assert container.kind(root) == "docker"


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": V2_MOUNT},
        {
            "proc/self/cgroup": "4:memory:/\n1:cpu:/\n",
            "proc/self/mountinfo": "31 2 0:3 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": V1_UNLIMITED,
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
        },
    ],
    ids=["no-proc", "the-top", "version-1-unlimited"],
)
def test_where_nothing_is_limited(tmp_path: Path, files: dict[str, str]) -> None:
    assert container.limits(written(tmp_path, files)) == container.GroupLimits()


@contextlib.contextmanager
def group_with(controller: str, limits: dict[int, dict[str, str]]) -> Iterator[Path]:
    """A control group below this process's own, limited by files of the version that is mounted here."""
    found = next(iter(container.groups(container.ROOT, controller)), None)
    if found is None:
        pytest.skip("no control groups here")
    parent, version = found
    group = parent / f"heaplab-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error.strerror}")
    try:
        for name, limit in limits[version].items():
            try:
                (group / name).write_text(limit)
            except OSError as error:
                pytest.skip(f"{controller} cannot be limited here: {error.strerror}")
        yield group
    finally:
        with contextlib.suppress(OSError):
            group.rmdir()


def within(group: Path, code: str) -> str:
    """What Python code prints in a process of the group."""
    enter = (
        "import os, pathlib, sys; pathlib.Path(sys.argv[1], 'cgroup.procs').write_text(str(os.getpid()))\n"
    )
    return printed_by(sys.executable, "-c", enter + code, group)


def test_a_limit_of_memory_made_here_is_a_fact_and_bounds_what_is_touched() -> None:
    code = (
        "from heaplab.machine import host; facts = host.facts();"
        "print(facts['memory_limit'], facts['memory_available'] <= 1 << 29, host.usable_memory(),"
        " host.warm_memory(2 << 30) > 0)"
    )
    names = {version: files[0] for version, files in container.MEMORY_FILES.items()}
    with group_with("memory", {version: {name: str(GIB // 2)} for version, name in names.items()}) as group:
        assert within(group, code).split() == [str(GIB // 2), "True", str(GIB // 2), "True"]


def test_a_limit_of_cpu_time_made_here_is_a_fact_and_doctor_warns() -> None:
    limits = {1: {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "50000"}, 2: {"cpu.max": "50000 100000"}}
    code = "from heaplab.commands import main; sys.argv = ['heaplab', 'doctor', '--json']; main()"
    with group_with("cpu", limits) as group:
        told = json.loads(within(group, code))
    assert told["host"]["cpu_limit"] == 0.5
    assert any("a control group limits CPU time to 0.5 CPUs" in line for line in told["advice"])


# A filter as container engines have it: ptrace is refused, all else allowed (seccomp(2), linux/filter.h).
PTRACE = {"x86_64": 101, "aarch64": 117}
FILTERED = """
import ctypes, struct, sys
load, equal, give = 0x20, 0x15, 0x06
refused, allowed = 0x00050000 | 1, 0x7FFF0000
lines = [(load, 0, 0, 0), (equal, 0, 1, PTRACE), (give, 0, 0, refused), (give, 0, 0, allowed)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(lines), ctypes.addressof(code)))
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program, 0, 0):
    sys.exit(77)
from heaplab.commands import main
sys.argv = ["heaplab", "doctor", "--json"]
main()
"""


def test_a_filter_made_here_that_refuses_ptrace_is_a_fact_and_doctor_warns() -> None:
    code = FILTERED.replace("PTRACE", str(PTRACE[platform.machine()]))
    done = ran(sys.executable, "-c", code)
    if done.returncode == 77:
        pytest.skip("no filter of system calls can be made here")
    told = json.loads(done.stdout)
    assert (told["host"]["seccomp"], told["host"]["ptrace"]) == ("filtered", False)
    assert any("system calls are filtered" in line for line in told["advice"])
    assert any("gdb, strace and rr will not work" in line for line in told["advice"])


WITHOUT_PROC = ("unshare", "-rm", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@" 2>&1', "sh")


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["with", "glibc", "--", "ls", "-d", "/"], 0, "/\n"),
        (["doctor"], 0, "/proc cannot be read: memory will not be measured\n"),
        (
            ["compare", "-o", "out", "--", "ls"],
            1,
            "heaplab: nothing can be measured here: /proc is not mounted\n",
        ),
    ],
)
def test_where_proc_is_not_mounted(tmp_path: Path, words: list[str], status: int, said: str) -> None:
    if ran(*WITHOUT_PROC, "true").returncode:
        pytest.skip("nothing can be mounted here")
    done = ran(*WITHOUT_PROC, *HEAPLAB, *words, cwd=tmp_path, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stdout.endswith(said)) == (status, True), done.stdout


def test_a_filter_that_refuses_ptrace_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert container.may_trace()
    monkeypatch.setattr(container, "PTRACE_TRACEME", -1)  # a request that the kernel refuses
    assert not container.may_trace()


def test_doctor_says_what_each_limit_does() -> None:
    limited = {"cpus": 8, "memory_limit": 512 << 20, "cpu_limit": 1.5, "seccomp": "filtered", "ptrace": False}
    facts = host.facts() | limited
    advice = " ".join(run_doctor.host_advice(facts))
    for words in ("512 MiB", "1.5 CPUs, and 8 are seen", "seccomp", "gdb"):
        assert words in advice
    nothing = facts | {"memory_limit": None, "cpu_limit": None, "seccomp": "off", "ptrace": True}
    assert "control group" not in " ".join(run_doctor.host_advice(nothing))
