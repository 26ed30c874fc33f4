"""One plan, carried out by real engines while nodes die: the same runs in each, none lost, none twice."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import planned
import pytest
import slurm_cluster
import ssh_server
import yaml
from laboratory import call, success
from planned import complete, counted, expected, runs
from slurm_cluster import SlurmCluster, wait_until
from ssh_server import SshServer
from subprocesses import executable, ran

from heaplab.cluster import read_plan
from heaplab.cluster.engines import github, slurm
from heaplab.cluster.shard_states import files_of
from heaplab.errors import UsageError

END = b'{"kind":"end"'
pytestmark = [pytest.mark.starts_programs, pytest.mark.slow]


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return planned.catalog_in(tmp_path_factory.mktemp("planned"))


@pytest.fixture(scope="module")
def plan_once(catalog: Path, libraries: dict[str, Path]) -> Path:
    return planned.make(catalog, catalog.parent / "plan", libraries["slow"])


@pytest.fixture
def plan(plan_once: Path, tmp_path: Path) -> Path:
    """A plan of which nothing was carried out yet; the same for every engine."""
    return shutil.copytree(plan_once, tmp_path / "plan")


@pytest.fixture
def held(catalog: Path) -> Iterator[Path]:
    """Every shard stays in the middle, with its first block measured, until this file is removed."""
    path = catalog.parent / planned.HELD
    path.touch()
    yield path
    path.unlink(missing_ok=True)


@pytest.fixture(scope="module")
def started_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmCluster]:
    if reason := slurm_cluster.missing():
        pytest.skip(reason)
    cluster = SlurmCluster(tmp_path_factory.mktemp("slurm"))
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def cluster(started_cluster: SlurmCluster, monkeypatch: pytest.MonkeyPatch) -> SlurmCluster:
    for name, value in started_cluster.environment.items():
        monkeypatch.setenv(name, value)
    return started_cluster


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshServer]:
    if reason := ssh_server.missing():
        pytest.skip(reason)
    server = SshServer(tmp_path_factory.mktemp("ssh"), planned.environment_of_nodes())
    try:
        server.start()
        yield server
    finally:
        server.stop()


def campaign(action: str, plan: Path, on: str, *words: object, status: int = 0) -> str:
    ended, printed = call("cluster", action, plan, "--on", on, *words)
    assert ended == status, printed
    return printed


def assert_nothing_to_submit(plan: Path, on: str, *words: object) -> None:
    """Every shard is held, or complete by now."""
    printed = campaign("submit", plan, on, *words)
    assert "held already" in printed or "are complete" in printed, printed


def is_complete(plan: Path, on: str) -> bool:
    ended, _ = call("cluster", "status", plan, "--on", on)
    return ended == 0


def told(plan: Path, on: str) -> str:
    """What `status` prints, whatever its exit status."""
    return call("cluster", "status", plan, "--on", on)[1]


def carried_out(plan: Path, shard: int, node: str) -> int:
    """The exit status of a shard that is carried out on a node of this name."""
    environment = os.environ | {"SLURMD_NODENAME": node}
    return ran(plan / "run", f"{shard}/{planned.SHARDS}", env=environment).returncode


def results_file(plan: Path, shard: int) -> Path:
    read = read_plan(plan)
    [(path, _)] = files_of(read, read.shards[shard - 1])
    return path


def assert_nothing_lost_and_nothing_twice(plan: Path) -> None:
    """The report is of every run that was planned, and of each once. A block that others disturb is measured
    once more, as a further one."""
    success(call("cluster", "merge", plan, "-o", plan.parent / "report"))
    found = counted(plan)
    assert set(found) >= expected()
    assert len(found) == len(set(found))


def in_the_middle(plan: Path, *shards: int) -> bool:
    return all(runs(plan)[shard] >= planned.RUNS // planned.BLOCKS for shard in shards)


def test_slurm(cluster: SlurmCluster, plan: Path, held: Path) -> None:
    """A node dies, a job is pre-empted, the controller is restarted, a shard is carried out elsewhere too."""
    assert "3 shards" in campaign("submit", plan, "slurm")
    wait_until(lambda: in_the_middle(plan, 1, 2, 3), "all nodes measure")
    cluster.pre_empt("n1")
    assert cluster.kill_node("n2") > 2  # slurmd, slurmstepd, heaplab
    wait_until(lambda: "waiting: BeginTime" in campaign("status", plan, "slurm", status=1), "a shard waits")
    cluster.restart_controller()
    cluster.boot_node("n2")
    held.unlink()
    assert carried_out(plan, 3, "elsewhere") == 0
    assert_nothing_to_submit(plan, "slurm")
    wait_until(lambda: is_complete(plan, "slurm"), "every shard is complete")
    assert_nothing_lost_and_nothing_twice(plan)


def test_slurm_ends_a_shard(cluster: SlurmCluster, plan: Path, held: Path) -> None:
    """As before its time limit, by a signal to the batch script alone; and the others by `cancel`."""
    job = campaign("submit", plan, "slurm").split()[-1]
    same = shutil.copytree(plan, plan.parent / "same")
    wait_until(lambda: in_the_middle(plan, 1), "the first shard measures")
    cluster.call("scancel", "--batch", "--signal=TERM", f"{job}_1")
    wait_until(lambda: "interrupted; go on with" in (plan / "engines/slurm-1.log").read_text(), "it ended")
    assert "holds 3 of them no longer" in told(same, "slurm")
    assert "cancelled" in campaign("cancel", plan, "slurm")
    wait_until(lambda: "holds 3 of them no longer" in told(plan, "slurm"), "all are stopped")
    assert in_the_middle(plan, 1)


def test_slurm_gives_each_kind_of_machine_an_array(
    cluster: SlurmCluster, catalog: Path, libraries: dict[str, Path], tmp_path: Path, held: Path
) -> None:
    kinds = ("small partition=low", "large partition=high")
    plan = planned.make(catalog, tmp_path / "plan", libraries["slow"], *kinds)
    campaign("submit", plan, "slurm")
    queued = cluster.call("squeue", "--noheader", "--array", "--format=%K %P").splitlines()
    assert sorted(queued) == ["1 low", "2 low", "3 low", "4 high", "5 high", "6 high"]
    campaign("cancel", plan, "slurm")


def test_of_several_arrays_all_are_submitted_or_none(
    cluster: SlurmCluster, catalog: Path, libraries: dict[str, Path], tmp_path: Path, held: Path
) -> None:
    kinds = ("small partition=low", "large partition=nowhere")
    plan = planned.make(catalog, tmp_path / "plan", libraries["slow"], *kinds)
    assert "invalid partition specified: nowhere" in campaign("submit", plan, "slurm", status=2)
    wait_until(lambda: not cluster.call("squeue", "--noheader"), "what was submitted is gone")


def test_an_array_that_has_begun_when_the_next_is_refused_leaves_its_log(
    catalog: Path, libraries: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = ("small partition=low", "large partition=nowhere")
    plan = planned.make(catalog, tmp_path / "plan", libraries["slow"], *kinds)
    for tool, does in {
        "sbatch": 'case "$*" in *nowhere*) echo no such partition >&2; exit 1;; esac; '
        f"echo begun > {plan}/engines/slurm-1.log; echo 7",
        "scancel": f'echo "$@" > {tmp_path}/cancelled',
        "scontrol": "true",
        "srun": "exit 1",
        "squeue": "true",
    }.items():
        executable(tmp_path / tool, f"#!/bin/sh\n{does}\n")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert campaign("submit", plan, "slurm", status=2) == "heaplab: slurm: no such partition\n"
    assert (plan / "engines/slurm-1.log").read_text() == "begun\n"
    assert (tmp_path / "cancelled").read_text() == "7\n"


def test_several_kinds_of_machine_have_hosts_each(
    catalog: Path, libraries: dict[str, Path], tmp_path: Path
) -> None:
    kinds = ("small hosts=n1", "large hosts=n2")
    plan = planned.make(catalog, tmp_path / "plan", libraries["slow"], *kinds)
    assert_refused(plan, "--hosts does not tell 2 kinds of machine apart", "submit", "ssh", "--hosts", "n1")


@pytest.mark.long  # what hosts do with copies stays
def test_ssh_in_a_shared_folder(server: SshServer, plan: Path, held: Path) -> None:
    """A host dies; a second `submit` goes on where it was, on the hosts that are left."""
    options = ("--", "-F", server.client)
    assert "3 shards on 2 hosts" in campaign("submit", plan, "ssh", "--hosts", "n1,n2", *options)
    wait_until(lambda: in_the_middle(plan, 1, 2), "both hosts measure")
    assert server.kill_host("n2") > 1  # the worker, heaplab
    kept = runs(plan)[2]
    held.unlink()
    wait_until(lambda: "n1" not in told(plan, "ssh"), "the first host is done")
    assert complete(plan) == [1, 3]
    assert runs(plan)[2] == kept
    assert "1 shard on 1 host" in campaign("submit", plan, "ssh", "--hosts", "n1")
    assert_nothing_to_submit(plan, "ssh", "--hosts", "n1")
    wait_until(lambda: is_complete(plan, "ssh"), "every shard is complete")
    assert_nothing_lost_and_nothing_twice(plan)


def test_ssh_with_copies(server: SshServer, plan: Path, tmp_path: Path) -> None:
    """Hosts without the folder get a copy. Results come back, also in place of one that was truncated."""
    (tmp_path / "there").mkdir()
    where = ("--hosts", "n1,n2,n3", "--copy-to", tmp_path / "there")
    campaign("submit", plan, "ssh", *where, "--", "-F", server.client)
    wait_until(lambda: is_complete(plan, "ssh"), "every shard is complete")
    damaged = results_file(plan, 2)
    whole = damaged.read_bytes()
    damaged.write_bytes(whole[: whole.index(END) + 9])
    assert complete(plan) == [1, 3]
    assert "1 results files" in campaign("fetch", plan, "ssh")
    assert damaged.read_bytes() == whole
    for path in (tmp_path / "there").glob(f"*/results/{damaged.name}"):
        path.write_bytes(whole[:100])
    assert "0 results files" in campaign("fetch", plan, "ssh")
    assert damaged.read_bytes() == whole
    assert_nothing_lost_and_nothing_twice(plan)


def test_this_machine(plan: Path, held: Path) -> None:
    """The worker is cancelled, the disk is full, a results file is truncated."""
    campaign("submit", plan, "local")
    wait_until(lambda: in_the_middle(plan, 1), "the first shard measures")
    assert "stopped" in campaign("cancel", plan, "local")
    assert "holds 3 of them no longer" in campaign("status", plan, "local", status=1)
    assert in_the_middle(plan, 1)
    held.unlink()
    fill_the_disk(plan, 2)
    assert 0 < runs(plan)[2] < planned.RUNS
    campaign("submit", plan, "local")
    wait_until(lambda: is_complete(plan, "local"), "every shard is complete")
    damaged = results_file(plan, 3)
    damaged.write_bytes(damaged.read_bytes()[:-3000])
    assert "2 complete, 1 begun" in campaign("status", plan, "local", status=1)
    wait_until(lambda: "1 shard " in campaign("submit", plan, "local"), "the worker before ended")
    wait_until(lambda: is_complete(plan, "local"), "every shard is complete")
    assert_nothing_lost_and_nothing_twice(plan)


def fill_the_disk(plan: Path, shard: int) -> None:
    """Carry out a shard whose results lie on a file system of a few pages, and keep what it kept."""
    if ran("unshare", "-rm", "true").returncode:
        pytest.skip("no user namespace here in which to mount a small file system")
    kept = plan.parent / "kept"
    kept.mkdir()
    script = f"""
        mount -t tmpfs -o size={planned.SMALL_DISK} none {plan}/results
        {plan}/run {shard}/{planned.SHARDS} 2>{kept}/said
        echo $? >{kept}/status
        cp {plan}/results/*.jsonl {kept}"""
    subprocess.run(["unshare", "-rm", "sh", "-c", script], check=True)
    assert (kept / "status").read_text() == "1\n"
    assert "No space left on device" in (kept / "said").read_text()
    for path in kept.glob("*.jsonl"):
        shutil.copy(path, plan / "results")


@pytest.fixture(scope="module")
def reframe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """ReFrame, in an environment of its own: its needs are many, and not heaplab's."""
    if here := shutil.which("reframe"):
        return Path(here)
    folder = tmp_path_factory.mktemp("reframe")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    options = ("--quiet", "--disable-pip-version-check")
    if ran(folder / "bin/pip", "install", *options, planned.REFRAME).returncode:
        pytest.skip(f"ReFrame is not installed, and pip cannot install {planned.REFRAME}")
    return folder / "bin/reframe"


REFRAME_SETTINGS = """
site_configuration = {
    "systems": [{"name": "loopback", "hostnames": [".*"], "partitions": [{
        "name": "low", "scheduler": "squeue", "launcher": "local", "environs": ["builtin"],
        "access": ["--partition=low"],
    }]}],
    "environments": [{"name": "builtin"}],
}
"""


@pytest.mark.long  # installs ReFrame, which takes a network and 200 MB
def test_reframe(cluster: SlurmCluster, plan: Path, reframe: Path, tmp_path: Path) -> None:
    """The written test takes the shards on every node of a Slurm."""
    campaign("submit", plan, "reframe", "-o", tmp_path / "shards.py")
    (tmp_path / "settings.py").write_text(REFRAME_SETTINGS)
    words = ["-C", "settings.py", "-c", "shards.py", "--distribute=all", "--run", "--prefix=done"]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    ended = ran(reframe, *words, cwd=tmp_path, env=environment)
    assert ended.returncode == 0, ended
    assert "Ran 3/3 test case(s)" in ended.stdout
    assert len(list((plan / "results").glob("*.jsonl"))) == planned.SHARDS  # no two nodes took the same shard
    assert_nothing_lost_and_nothing_twice(plan)


def test_matrix_of_hosted_runners(plan: Path, tmp_path: Path) -> None:
    """Every step of the written workflow, each job in a checkout of its own, one of them on two runners."""
    workflow = yaml.safe_load(campaign("submit", plan, "github"))
    matrix = workflow["jobs"]["shard"]["strategy"]["matrix"]["include"]
    assert [job["shard"] for job in matrix] == list(range(1, planned.SHARDS + 1))
    assert workflow["env"] == {"PLAN": "plan"}
    merging = tmp_path / "merging"
    shutil.copytree(plan, merging / "plan")
    steps = workflow["jobs"]["shard"]["steps"]
    [script] = [step["run"] for step in steps if "run" in step]
    [kept] = [step["with"]["path"] for step in steps if "upload-artifact" in step.get("uses", "")]

    def run_job(checkout: Path, job: dict[str, object]) -> Path:
        """The folder that the job keeps."""
        environment = os.environ | workflow["env"] | {"SLURMD_NODENAME": checkout.name}
        subprocess.run(["bash", "-e", "-c", filled(script, job)], cwd=checkout, env=environment, check=True)
        return checkout / filled(kept, workflow["env"])

    jobs = [*matrix, matrix[1]]
    checkouts = [tmp_path / f"runner-{runner}" for runner in range(len(jobs))]
    # All copies are made before the first job forks: a child that inherits the descriptor with which
    # another thread writes plan/run makes the kernel refuse to execute that file (ETXTBSY).
    for checkout in checkouts:
        shutil.copytree(plan, checkout / "plan")
    with ThreadPoolExecutor() as pool:
        for artifact in pool.map(run_job, checkouts, jobs):
            shutil.copytree(artifact, merging / "plan/results", dirs_exist_ok=True)
    [script] = [step["run"] for step in workflow["jobs"]["merge"]["steps"] if "run" in step]
    programs = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    subprocess.run(
        ["bash", "-e", "-c", script], cwd=merging, env=os.environ | workflow["env"] | programs, check=True
    )
    assert list((merging / "heaplab-report").glob("*.html"))
    assert_nothing_lost_and_nothing_twice(merging / "plan")


def filled(text: str, values: dict[str, Any]) -> str:
    """The text with its expressions ${{ matrix.NAME }} and ${{ env.NAME }} replaced."""
    return re.sub(r"\$\{\{ (?:matrix|env)\.(\w+) \}\}", lambda found: str(values[found[1]]), text)


def test_a_matrix_has_a_limit(plan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(github, "JOBS_MOST", 2)
    assert_refused(plan, "3 shards are outside 1 to 2, the jobs of a matrix", "submit", "github")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--partition=nowhere"], "invalid partition specified: nowhere"),
        (["--no-such-option"], "unrecognized option"),
    ],
)
def test_what_slurm_refuses(cluster: SlurmCluster, plan: Path, words: list[str], says: str) -> None:
    assert_refused(plan, says, "submit", "slurm", "--", *words)


@pytest.mark.usefixtures("cluster")
def test_an_array_has_a_limit() -> None:
    slurm.refuse_long_array(1000)
    with pytest.raises(UsageError, match="shard 1001 is outside 1 to 1000, the elements of an array job"):
        slurm.refuse_long_array(1001)


def test_a_folder_that_nodes_do_not_share(cluster: SlurmCluster, plan: Path) -> None:
    """The plan lies where only the one who submits has mounted something."""
    hidden = plan.parent / "hidden"
    hidden.mkdir()
    script = f"mount -t tmpfs none {hidden} && cp -r {plan} {hidden}/plan && exec {sys.executable} -m heaplab"
    ended = ran("unshare", "-rm", "sh", "-c", f"{script} cluster submit {hidden}/plan --on slurm")
    if "unshare failed" in ended.stderr:
        pytest.skip("no user namespace here in which to mount a file system")
    assert ended.returncode == 2, ended
    assert ended.stderr == (
        f"heaplab: slurm: nodes do not see {hidden}/plan/plan.json: plan in a folder that all nodes share, "
        "such as $HOME or a scratch file system\n"
    )
    assert cluster.call("squeue", "--noheader", "--states=pending,running") == ""


def test_no_controller(
    cluster: SlurmCluster, plan: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings = cluster.settings.read_text().replace("SlurmctldPort=", "SlurmctldPort=1 #")
    (tmp_path / "slurm.conf").write_text(settings + "MessageTimeout=2\n")
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "slurm.conf"))
    assert_refused(plan, "Unable to contact slurm controller", "submit", "slurm")


@pytest.mark.parametrize(
    ("host", "says"),
    [
        ("expired", "Permission denied (publickey); renew your key, ticket or certificate"),
        ("stranger", "Host key verification failed; log in by hand once"),
        ("nowhere.invalid", "Could not resolve hostname nowhere.invalid"),
        ("-oProxyCommand=true", "is no name of a host"),
        (",", "no host for machines of kind"),
        ("n1,expired", "expired: "),
    ],
)
def test_hosts_that_ssh_refuses(server: SshServer, plan: Path, host: str, says: str) -> None:
    assert_refused(plan, says, "submit", "ssh", f"--hosts={host}", "--", "-F", server.client)


def test_a_host_that_is_gone(server: SshServer, plan: Path) -> None:
    """`status` tells it, and goes on with the others."""
    campaign("submit", plan, "ssh", "--hosts", "n1,n2", "--", "-F", server.client)
    campaign("cancel", plan, "ssh")
    record = plan / "engines" / "ssh.json"
    record.write_text(record.read_text().replace('"n2"', '"expired"'))
    said = campaign("status", plan, "ssh", status=1)
    assert said.count("heaplab: ssh: expired: ") == 1
    assert "the engine holds 3 of them no longer" in said


def test_hosts_that_do_not_see_the_plan(server: SshServer, plan: Path) -> None:
    (plan.parent / "elsewhere").mkdir()
    moved = shutil.copytree(plan, plan.parent / "moved")
    elsewhere = plan.parent / "elsewhere"
    heaplab = f"mount --bind {plan} {elsewhere} && exec {sys.executable} -m heaplab"
    words = f"cluster submit {elsewhere} --on ssh --hosts n1 -- -F {server.client}"
    ended = ran("unshare", "-rm", "sh", "-c", f"{heaplab} {words}")
    assert ended.returncode == 2, ended
    assert "n1 does not see" in ended.stderr
    assert not (moved / "engines").exists()


@pytest.mark.parametrize(("on", "program"), [("slurm", "squeue"), ("ssh", "ssh"), ("local", "flock")])
def test_an_engine_that_is_missing(
    plan: Path, monkeypatch: pytest.MonkeyPatch, on: str, program: str
) -> None:
    monkeypatch.setenv("PATH", "")
    hosts = ("--hosts", "n1") if on == "ssh" else ()
    assert_refused(plan, f"{on}: {program} is not installed on this machine", "submit", on, *hosts)


@pytest.mark.parametrize(
    ("action", "on", "words", "says"),
    [
        ("submit", "reframe", ["--", "--time=1"], "--time=1: --on reframe calls no other tool"),
        ("fetch", "reframe", [], "'reframe' is not one of 'slurm', 'ssh', 'local'"),
        ("submit", "slurm", ["--hosts", "a"], "--hosts and --copy-to go with --on ssh"),
        ("submit", "local", ["--hosts", "a"], "go with --on ssh"),
        ("status", "ssh", ["--hosts", "a"], "No such option '--hosts'"),
        ("submit", "local", ["-o", "x"], "-o goes with --on reframe and github"),
    ],
)
def test_words_that_do_not_go_together(plan: Path, action: str, on: str, words: list[str], says: str) -> None:
    assert_refused(plan, says, action, on, *words)


def assert_refused(plan: Path, says: str, action: str, on: str, *words: object) -> None:
    """One line, exit status 2, and nothing changed."""
    before = sorted(plan.rglob("*"))
    printed = campaign(action, plan, on, *words, status=2)
    assert says in printed
    assert printed.startswith("heaplab: ")
    assert printed.count("\n") == 1
    assert sorted(plan.rglob("*")) == before
