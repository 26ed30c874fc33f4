"""What a plan carries is what a node uses: verified, and the build that fits."""

import hashlib
import json
import os
import platform
import shutil
import subprocess
from pathlib import Path

import pytest
from laboratory import Laboratory, refusal, success
from subprocesses import ran, wheel_of

from heaplab.cluster import Plan, bundle, read_plan
from heaplab.cluster.plan_folder import write_plan
from heaplab.machine import elf
from heaplab.results import store

HERE = platform.machine()


@pytest.fixture
def plan(lab: Laboratory) -> Plan:
    return planned(lab, "--bundle")


def planned(lab: Laboratory, *words: object, blocks: int = 2) -> Plan:
    folder = lab.out.parent / "plan"
    few = ("--blocks", blocks, "--suite", "fake")
    success(lab.heaplab("cluster", "plan", "-o", folder, *few, *lab.own, *words))
    return read_plan(folder)


def carried_out(lab: Laboratory, plan: Plan) -> tuple[int, str]:
    return lab.heaplab("cluster", "run", plan.folder, "--shard", "1/1", "-q")


def rewritten(plan: Plan, **changes: object) -> Plan:
    """A plan whose bundled builds are said to be something else, as if they had been planned so."""
    path = plan.folder / "bundle" / "files.json"
    listed = json.loads(path.read_text())
    for library in listed["libraries"]:
        library.update(changes)
    path.write_text(json.dumps(listed))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    (plan.folder / "plan.json").unlink()
    return write_plan(plan.folder, plan.file.model_copy(update={"bundle": digest}))


def test_a_node_uses_the_bundled_libraries(
    lab: Laboratory, plan: Plan, libraries: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_ESTIMATE", "4096")
    away = {path: path.with_suffix(".away") for path in libraries.values()}
    for path, hidden in away.items():
        path.rename(hidden)
    try:
        status, printed = carried_out(lab, plan)
    finally:
        for path, hidden in away.items():
            hidden.rename(path)
    assert status == 0, printed
    (file,) = plan.results.glob("*.jsonl")
    for name in ("same", "slow"):
        (used,) = store.load(file).libraries[name].preload
        assert Path(used).is_relative_to(plan.folder.resolve() / "bundle")


def test_without_a_bundle_a_library_that_is_not_here_is_named(
    lab: Laboratory, tmp_path: Path, libraries: dict[str, Path]
) -> None:
    mine = tmp_path / "libmine.so"
    shutil.copy(libraries["slow"], mine)
    plan = planned(lab, "--allocator", f"mine={mine}")
    mine.unlink()
    refused(lab, plan, f"mine: no {mine} on this node; plan with --bundle")


def test_a_changed_file_is_refused(lab: Laboratory, plan: Plan) -> None:
    path = next((plan.folder / "bundle/libraries").rglob("libslow.so"))
    path.write_bytes(path.read_bytes() + b"\0")
    refused(lab, plan, f"{path}: is not the file that was bundled")


def test_a_changed_list_is_refused(lab: Laboratory, plan: Plan) -> None:
    path = plan.folder / "bundle/files.json"
    path.write_text(path.read_text() + "\n")
    refused(lab, plan, f"{path}: is not what was planned")


def refused(lab: Laboratory, plan: Plan, message: str) -> None:
    assert message in refusal(carried_out(lab, plan))
    assert not list(plan.results.glob("*.jsonl"))


def test_builds_for_other_nodes_are_named_with_this_one(lab: Laboratory, plan: Plan) -> None:
    other = rewritten(plan, architecture="s390x")
    glibc = ".".join(map(str, bundle.glibc_here()))
    refused(lab, other, "same: the bundle has builds for s390x with glibc ")
    refused(lab, other, f"this node is {HERE} with glibc {glibc}")


def test_a_build_for_a_newer_c_library_is_refused(lab: Laboratory, plan: Plan) -> None:
    refused(lab, rewritten(plan, glibc=[99, 1]), f"the bundle has builds for {HERE} with glibc 99.1 or later")


def test_of_several_builds_a_node_takes_the_one_that_fits(plan: Plan, libraries: dict[str, Path]) -> None:
    files = bundle.bundled(plan)
    (fits,) = (library for library in files.libraries if library.arm == "slow")
    changes: list[dict[str, object]] = [{"architecture": "s390x"}, {"glibc": (99, 1)}, {"glibc": (2, 0)}]
    others = [fits.model_copy(update=change) for change in changes]
    listed = bundle.BundleList(libraries=[*others, fits], wheels=[])
    assert bundle.library_for(plan, listed, "slow") == max(fits, others[2], key=lambda build: build.glibc)


def test_what_a_library_was_built_for_is_read_from_it(libraries: dict[str, Path]) -> None:
    build = elf.build_of(libraries["slow"])
    assert build.architecture == HERE
    assert build.glibc <= bundle.glibc_here()


def test_a_further_build_goes_into_the_bundle(lab: Laboratory, libraries: dict[str, Path]) -> None:
    plan = planned(lab, "--add-build", f"slow={libraries['same']}")
    listed = [(library.arm, Path(library.path).name) for library in bundle.bundled(plan).libraries]
    assert listed == [("slow", "libsame.so")]


# ---------------------------------------------------------------- the file run


def test_the_start_script_hands_over_its_shard(lab: Laboratory, plan: Plan) -> None:
    done = ran(plan.folder / "run", "7/1")
    assert (done.returncode, done.stderr) == (2, "heaplab: --shard 7/1: the shards are 1 to 1\n")
    done = ran(plan.folder / "run")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "name one shard" in done.stderr


def wheel(folder: Path, name: str, content: str) -> Path:
    """A wheel of a package `heaplab` whose command is this program."""
    return wheel_of(folder / name, {"heaplab/__init__.py": "", "heaplab/__main__.py": content})


@pytest.fixture
def with_wheel(lab: Laboratory, tmp_path: Path) -> Plan:
    wheel(tmp_path / "wheels", "heaplab-1.0-py3-none-any.whl", "import sys; print('called', sys.argv[1:])\n")
    return planned(lab, "--wheels", tmp_path / "wheels")


def started(plan: Plan, cache: Path) -> subprocess.CompletedProcess[str]:
    given = {"HEAPLAB_CACHE": str(cache), "PIP_NO_INDEX": "1", "PATH": os.defpath}
    around = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | given
    return ran(plan.folder / "run", "1/1", env=around)


@pytest.mark.slow
def test_a_node_without_heaplab_installs_the_wheel_once(with_wheel: Plan, tmp_path: Path) -> None:
    for _ in range(2):
        done = started(with_wheel, tmp_path / "cache")
        called = f"called ['cluster', 'run', '{with_wheel.folder}', '--shard', '1/1']\n"
        assert (done.returncode, done.stdout) == (0, called), done.stderr
    assert len(list((tmp_path / "cache/nodes").iterdir())) == 1


def test_a_changed_wheel_is_refused(with_wheel: Plan, tmp_path: Path) -> None:
    path = with_wheel.folder / "bundle/wheels/heaplab-1.0-py3-none-any.whl"
    path.write_bytes(path.read_bytes() + b"\0")
    done = started(with_wheel, tmp_path / "cache")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "are not those that were bundled" in done.stderr
    assert list((tmp_path / "cache/nodes").iterdir()) == []


def test_a_wheel_for_another_architecture_is_refused_in_one_line(lab: Laboratory, tmp_path: Path) -> None:
    wheel(tmp_path / "wheels", "heaplab-1.0-py3-none-manylinux_2_34_s390x.whl", "")
    plan = planned(lab, "--wheels", tmp_path / "wheels")
    done = started(plan, tmp_path / "cache")
    assert (done.returncode, done.stderr) == (2, f"heaplab: the bundle has no heaplab for {HERE}\n")
