"""A server's life: ready, under load, idle, told to end; what is measured of it, and what can go wrong."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from laboratory import WARM, Laboratory, refusal, success
from subprocesses import compiled, executable, ran, until

from heaplab.analysis import Analysis
from heaplab.catalog import contents as catalogs
from heaplab.catalog.workload_file import matching, why_absent
from heaplab.comparison import given_server
from heaplab.errors import HeaplabError
from heaplab.machine import host, process_tree
from heaplab.machine.execute import plain_environment
from heaplab.machine.watch import Limits
from heaplab.programs import PreparedServer
from heaplab.programs.servers import ServedRun, ServerJob, free_port, serve
from heaplab.report.tables.server_table import server_tables
from heaplab.results.records import Status
from heaplab.results.server_spec import Server
from heaplab.results.spec import Workload

pytestmark = pytest.mark.starts_programs

MIB = 1 << 20
# server PORT [MODE...]: answers each connection with "ok". `workers PATH`: they work once the file exists.
SERVER = r"""
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
static int mode(char** words, const char* wanted) {
  for (; *words; words++) if (!strcmp(*words, wanted)) return 1;
  return 0;
}
static void crash(int signal) { (void)signal; abort(); }
static void burn(void) {
  struct timespec used;
  do clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used); while (used.tv_nsec < 100000000 && used.tv_sec == 0);
}
int main(int count, char** words) {
  (void)count;
  const int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(atoi(words[1]))};
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (mode(words, "early")) { fputs("no configuration\n", stderr); return 3; }
  if (mode(words, "late")) { pause(); }
  if (bind(listener, (struct sockaddr*)&at, sizeof at)) { perror("bind"); return 4; }
  if (mode(words, "crashing-end")) signal(SIGTERM, crash);
  if (mode(words, "lasting")) signal(SIGTERM, SIG_IGN);
  char* shared = malloc(32 << 20);
  memset(shared, 1, 32 << 20);
  if (mode(words, "lazy")) {
    char* lazy = mmap(NULL, 16 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(lazy, 1, 16 << 20);
    madvise(lazy, 16 << 20, MADV_FREE);
  }
  listen(listener, 100);
  if (mode(words, "workers"))
    for (int i = 0; i < 3; i++)
      if (fork() == 0) {
        setsid();
        while (words[3] && words[3][0] == '/' && access(words[3], F_OK)) usleep(1000);
        burn();
        pause();
      }
  for (int served = 0;; served++) {
    const int client = accept(listener, NULL, NULL);
    if (mode(words, "dying") && served == 5) { fputs("first\nheap is broken\n", stderr); abort(); }
    if (write(client, "ok\n", 3) != 3) return 5;
    close(client);
  }
}
"""
# client PORT COUNT
CLIENT = """
import socket, sys
count = int(sys.argv[2])
for _ in range(count):
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as server:
        server.recv(3)
print(f"{count} requests done, slowest 2.5 ms")
"""
TAKE = ["requests=([0-9]+) requests", "latency_p99:ms=slowest ([0-9.]+) ms"]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("server")
    (folder / "client.py").write_text(CLIENT)
    return compiled(folder / "server", SERVER)


def load(server: Path, count: int = 20) -> str:
    return f"{sys.executable} -SE {server.with_name('client.py')} {{port}} {count}"


def run(server: Path, *modes: str, limit: float = 30, port: int | None = None, **spec: object) -> ServedRun:
    content = {"ready": "tcp:{port}", "load": load(server), "take": TAKE, "idle_s": [0.1, 0.2]} | spec
    limits = Limits(time=limit, memory=1 << 30)
    with job_of([server, "{port}", *modes], Server.model_validate(content), limits, port) as job:
        return serve(job)


@contextmanager
def job_of(
    command: list[object], server: Server, limits: Limits, port: int | None = None
) -> Iterator[ServerJob]:
    with tempfile.TemporaryFile() as log:
        yield ServerJob(
            command=command,
            server=server,
            environment=plain_environment(),
            limits=limits,
            client_cpus=frozenset(os.sched_getaffinity(0)),
            port=port or free_port(),
            log=log,
        )


def test_what_is_measured_of_a_server(server: Path) -> None:
    served = run(server, bursts=2)
    assert (served.fault, served.unproved, served.execution.exit_status) == ("", "", 0)
    values = {name: metric.value for name, metric in served.metrics.items()}
    declared = Server(ready="tcp:1", load="x", take=TAKE, idle_s=[0.1, 0.2], bursts=2).metrics()
    assert list(values) == list(declared)
    assert 0 < values["cpu_per_request"] < 0.1
    assert values["throughput"] > 0
    assert values["latency_p99"] == pytest.approx(2.5e-3)
    for name in ("memory_after_load", "memory_after_0.1s", "memory_after_0.2s"):
        assert 32 * MIB < values[name] < 40 * MIB
    assert values["lazily_freed"] == 0
    assert values["memory_growth"] == pytest.approx(1, abs=0.05)
    assert served.execution.process.peak_memory >= values["memory_after_load"]


def test_workers_are_counted_with_their_server_and_shared_pages_once(server: Path, tmp_path: Path) -> None:
    begin = tmp_path / "begin"
    served = run(server, "workers", str(begin), load=f"touch {begin}; sleep 2; {load(server)}")
    assert 32 * MIB < served.metrics["memory_after_0.2s"].value < 45 * MIB
    assert served.metrics["cpu_per_request"].value * 20 > 0.25  # three workers use 0.1 s each


def test_nothing_is_left_of_workers_that_left_the_session(server: Path) -> None:
    run(server, "workers")
    run(server, "workers", "lasting", limit=0.5)
    run(server, "workers", "dying")
    until(lambda: ran("pgrep", "-f", f"^{server}").returncode != 0, "all workers are gone")


def test_lazily_freed_pages_are_counted_apart(server: Path) -> None:
    metrics = run(server, "lazy").metrics
    assert metrics["lazily_freed_after_0.2s"].value >= 15 * MIB
    assert 32 * MIB < metrics["memory_after_0.2s"].value < 40 * MIB


def test_memory_of_a_process_that_is_gone_is_none() -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    assert process_tree.memory_of([child.pid]) == process_tree.TreeMemory()
    assert process_tree.cpu_of([child.pid]) == {}
    assert process_tree.busiest([child.pid]) is None


@pytest.mark.parametrize(
    ("modes", "spec", "fault"),
    [
        (["late"], {"ready_within_s": 0.3}, "not ready within 0.3 s, `tcp:"),
        (
            ["late"],
            {"ready_within_s": 0.3, "ready": "sleep 60"},
            "not ready within 0.3 s, `sleep 60` did not succeed; the server wrote: nothing",
        ),
        (["early"], {}, "the server ended before it was ready: exit status 3; it wrote: no configuration"),
        (
            ["dying"],
            {},
            "the server ended during the load: killed by SIGABRT; it wrote: first | heap is broken",
        ),
        (
            [],
            {"load": "echo one; echo two >&2; exit 7"},
            "the load generator failed with exit status 7: one | two",
        ),
        ([], {"load": "echo 0 requests; echo slowest 1 ms"}, "the load generator made no request"),
        (
            [],
            {
                "load": "echo 10 requests, 5 errors; echo slowest 1 ms",
                "take": [*TAKE, "errors=([0-9]+) errors"],
            },
            "5 of 15 requests failed",
        ),
        (
            [],
            {"load": "echo done"},
            "--take requests: '([0-9]+) requests' is found nowhere in what --load writes",
        ),
        ([], {"fill": "false"}, "what fills the server failed with exit status 1"),
        ([], {"check": "false"}, "the check failed with exit status 1"),
        (
            ["crashing-end"],
            {},
            "the server crashed when it was told to end: killed by SIGABRT; it wrote nothing",
        ),
    ],
)
def test_what_goes_wrong_is_told_in_one_line(
    server: Path, modes: list[str], spec: dict[str, object], fault: str
) -> None:
    served = run(server, *modes, **spec)
    assert served.fault.startswith(fault)
    assert "\n" not in served.fault


def test_a_server_that_does_not_end_is_told(server: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heaplab.programs.servers.server_run.STOP_S", 0.2)
    assert run(server, "lasting").fault == "did not end within 0.2 s after `SIGTERM`"
    monkeypatch.undo()
    assert run(server, "lasting", stop="SIGINT").fault == ""
    assert run(server, "lasting", stop="pkill -INT -f '^[^ ]*server {port}'").fault == ""


def test_a_server_started_from_the_background_of_a_shell_ends_by_sigint(
    server: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heaplab.programs.servers.server_run.STOP_S", 5)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    assert run(server, "lasting", stop="SIGINT").fault == ""


def test_a_run_that_takes_too_long_is_ended(server: Path) -> None:
    assert run(server, load="sleep 60", limit=0.5).execution.killed_for == "time"


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def test_another_server_is_not_measured_in_place_of_this_one(server: Path, taken: int) -> None:
    with pytest.raises(HeaplabError, match=rf"^port {taken} is in use: "):
        run(server, port=taken)
    with pytest.raises(HeaplabError, match=r"^`true` succeeds before the server is started"):
        run(server, ready="true")
    assert "bind: Address already in use" in run(server, port=taken, ready="false").fault


def test_a_server_and_its_client_have_cpus_of_their_own() -> None:
    allowed = os.sched_getaffinity(0)
    own, other = host.cpus_apart(pinned=False)
    assert own | other == allowed
    assert not own & other or len(allowed) == 1


def test_commands_run_apart_and_the_server_under_the_library(
    lab: Laboratory, server: Path, tmp_path: Path
) -> None:
    seen = tmp_path / "seen"
    printed = success(compare(lab, server, "--load", f"echo $LD_PRELOAD >>{seen}; {load(server)}"))
    assert set(seen.read_text().split()) == set()
    assert len(lab.good("glibc")) == len(lab.good("same")) == 2
    paths = {run.sample.served_by["malloc"].path for run in lab.good("same")}
    assert {Path(path).name for path in paths} == {"libsame.so"}
    assert lab.good("same")[0].sample.metrics["cpu_per_request"].unit == "s"
    for figure in ("server CPU time per request", "memory after 0.05 s idle", "peak memory with page tables"):
        assert f"\n{figure} " in printed
    assert "lazily freed" not in printed  # nobody has any
    assert "server CPU time per request decides: other programs hardly change it" in " ".join(printed.split())
    assert "disturbed" not in printed
    assert "wall time" not in printed
    (study,) = Analysis(lab.results()).studies
    (table,) = server_tables(study)
    assert table.columns == ["glibc", "same", "slow"]
    rows = dict(table.rows)
    assert rows["99th percentile of latency"][0].text == "2.50 ms"
    assert rows["memory at the end of the load"][1].text.endswith(" MiB")
    assert "×" in rows["memory at the end of the load"][1].small


def test_two_builds_of_a_server_are_compared(lab: Laboratory, server: Path) -> None:
    arms = [word for name in ("old", "new") for word in ("--arm", f"{name}={server} {{port}}")]
    given = ["--ready", "tcp:{port}", "--idle", "0.05s", "--load", load(server), "--take", TAKE[0]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("heaplab.comparison.program_experiment.BLOCKS", (2, 2))
        status, printed = lab.heaplab("compare", *WARM, "-o", lab.out, *given, *arms)
    assert (status, len(lab.good("new"))) == (0, 2), printed
    assert lab.good("new")[0].sample.served_by == {}


def compare(lab: Laboratory, server: object, *words: str) -> tuple[int, str]:
    options = ["--ready", "tcp:{port}", "--idle", "0.05s"]
    takes = [word for take in TAKE for word in ("--take", take)]
    names = ["--allocators", "glibc,same"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("heaplab.comparison.program_experiment.BLOCKS", (2, 2))
        given = [*names, *WARM, "-o", lab.out, *options, *takes, *words]
        return lab.heaplab("compare", *lab.own, *given, "--", server, "{port}")


def test_a_server_that_loses_the_library_is_void(lab: Laboratory, server: Path, tmp_path: Path) -> None:
    alone = executable(tmp_path / "wrapper", f'#!/bin/sh\nexec env -u LD_PRELOAD {server} "$@"\n')
    compare(lab, alone, "--load", load(server))
    runs = [run for run in lab.results().runs if run.allocator == "same"]
    assert {run.status for run in runs} == {Status.VOID}
    assert "did most of the work, did not load" in runs[0].reason


def test_the_campaign_goes_on_without_the_arm_that_fails(
    lab: Laboratory, server: Path, tmp_path: Path
) -> None:
    script = f'case $LD_PRELOAD in *libsame*) echo no >&2; exit 3;; esac; exec {server} "$@"'
    picky = executable(tmp_path / "wrapper", f"#!/bin/sh\n{script}\n")
    status, printed = compare(lab, picky, "--load", load(server))
    assert (status, len(lab.good("glibc"))) == (1, 2), printed
    (reason,) = {run.reason for run in lab.results().runs if run.allocator == "same"}
    assert reason == "the server ended before it was ready: exit status 3; it wrote: no"


def test_a_server_that_fails_under_the_baseline_is_not_measured(lab: Laboratory, server: Path) -> None:
    status, printed = compare(lab, server, "--load", "exit 9")
    assert (status, lab.out.exists()) == (1, False)
    assert printed.endswith("under glibc: the load generator failed with exit status 9\n")
    assert printed.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (["--ready", "tcp:1", "--", "true"], "--load: is missing; a server takes --ready, --load and --take"),
        (
            ["--ready", "tcp:0", "--load", "x", "--take", "wrk", "--", "true"],
            "--ready: 'tcp:0' names no port",
        ),
        (["--ready", "tcp:1", "--load", "x", "--take", "y", "--", "true"], "--take: 'y' is neither one of"),
        (["--load", "x"], "--load goes with a server: heaplab compare --ready tcp:PORT"),
        (["--bursts", "2"], "--bursts: there is no server among what is to be measured"),
        (["--idle", "1s,soon", "--", "true"], "Invalid value for '--idle': 'soon' is not a duration"),
        (
            ["--ready", "tcp:1", "--load", "x", "--take", "wrk", "--idle", "2s,1s", "--", "true"],
            "--idle: idle times are above zero, and each is longer than the one before",
        ),
        (
            ["--input", "x", "--ready", "tcp:1", "--load", "x", "--take", "wrk", "--", "true"],
            "--input: a server reads no standard input; --load drives it",
        ),
    ],
)
def test_wrong_options_are_refused_in_one_line(lab: Laboratory, words: list[str], fault: str) -> None:
    suite = () if "--" in words else ("--suite", "fake")
    printed = refusal(lab.heaplab("compare", "--allocators", "glibc", *suite, "-q", *words))
    assert printed.startswith(f"heaplab: {fault}")


SERVERS = [work for work in catalogs.load().workloads.values() if work.server]
SLOWEST = ("memcached", "postgres")


def test_every_server_of_the_catalog_is_started_on_a_port_of_its_own() -> None:
    assert {work.id for work in SERVERS} == {"memcached", "nginx", "postgres", "redis"}
    for work in SERVERS:
        assert "{port}" in work.server.ready
        assert "{port}" in work.server.load
        assert work.main_metric == "cpu_per_request"


def test_idle_times_and_bursts_of_the_catalogs_servers_can_be_changed() -> None:
    suite = catalogs.load().experiments_matching(["servers"])
    given = {"idle": [7.0], "bursts": 1}
    experiments, works = given_server.changed(suite, {work.id: work for work in SERVERS}, given)
    assert {tuple(work.server.idle_s) for work in works.values()} == {(7.0,)}
    assert "memory_after_7s" in works["redis"].metrics
    assert "memory_growth" not in works["redis"].metrics
    for item in experiments:
        known = {*works[item.workload].metrics, "peak_memory"}
        assert {*item.metrics, *(plot.y for plot in item.plots if plot.y)} <= known


@pytest.mark.slow
@pytest.mark.parametrize(
    "work",
    [
        pytest.param(work, marks=[pytest.mark.long] if work.id in SLOWEST else [], id=work.id)
        for work in SERVERS
    ],
)
def test_a_server_of_the_catalog_always_does_the_same(work: Workload) -> None:
    if why := why_absent(work):
        pytest.skip(why)
    with job_of(
        [matching(work.executable), *work.arguments], work.server, Limits(time=work.timeout_s)
    ) as job:
        prepared = PreparedServer(work.fixture, job)
        served = prepared.serve(job)
        prepared.close()
    assert (served.fault, set(served.metrics)) == ("", set(work.metrics))
