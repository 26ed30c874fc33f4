"""The scripts that set everything up: what they install, how they wait, what they say."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from subprocesses import executable, ran

from heaplab.catalog import contents as catalogs

ROOT = Path(__file__).parents[3]
LOCKED = "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7 (apt-get)"


def packages(*lists: str) -> set[str]:
    return {name for item in lists for name in (ROOT / f"tools/packages-{item}.txt").read_text().split()}


def script(path: Path, text: str) -> None:
    executable(path, "#!/bin/sh\n" + text)


def call(folder: Path, *command: object, shadowing: Path | None = None) -> subprocess.CompletedProcess[str]:
    around = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    if shadowing:
        around |= {"PATH": f"{shadowing}:{around['PATH']}", "SBIN": str(shadowing)}
    return ran(*command, cwd=folder, env=around)


def test_make_compare_installs_what_the_quick_suite_needs() -> None:
    catalog = catalogs.load()
    chosen = catalog.experiments_matching(catalog.suite("quick").experiments)
    fixtures = [catalog.workloads[item.workload].fixture for item in chosen]
    needed = {fixture.package for fixture in fixtures if fixture}
    assert needed
    assert needed <= packages("build", "compare")


def test_make_test_installs_every_program_and_ready_made_allocator_of_the_catalog() -> None:
    catalog = catalogs.load()
    fixtures = [work.fixture for work in catalog.workloads.values() if work.fixture]
    programs = {package for fixture in fixtures for package in fixture.package.split(", ")}
    assert programs <= packages("build", "compare", "test")
    ready = [item for item in catalog.allocators.values() if item.quick]
    libraries = {item.sources[0].package for item in ready if item.sources[0].kind == "debian"}
    assert libraries <= packages("compare")


@pytest.fixture
def shadowing(tmp_path: Path) -> Path:
    """A folder that goes before all others on PATH, with a `sleep` that ends at once."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script(folder / "sleep", "exit 0\n")
    return folder


@pytest.mark.parametrize("locked", ["update", "install"])
def test_a_lock_held_by_another_is_waited_for(shadowing: Path, tmp_path: Path, locked: str) -> None:
    fails_twice = f'[ "$2" = {locked} ] && [ $(grep -c "$2" log) -le 2 ] && echo "{LOCKED}" >&2 && exit 100'
    script(shadowing / "apt-get", f'echo "$@" >>log\n{fails_twice}\nexit 0\n')
    done = call(tmp_path, ROOT / "tools/apt_get.sh", "some", shadowing=shadowing)
    assert done.returncode == 0
    said = "waiting up to two minutes for apt's lock, held by process 7 (apt-get)"
    assert done.stdout.splitlines().count(said) == 2
    assert (tmp_path / "log").read_text().splitlines()[-1] == "-q install -y --no-install-recommends some"


@pytest.mark.parametrize(("error", "attempts"), [(LOCKED, 61), ("E: Unable to locate package some", 1)])
def test_patience_has_an_end(shadowing: Path, tmp_path: Path, error: str, attempts: int) -> None:
    script(shadowing / "apt-get", f'echo "$@" >>log\necho "{error}" >&2\nexit 100\n')
    done = call(tmp_path, ROOT / "tools/apt_get.sh", "some", shadowing=shadowing)
    assert (done.returncode, len((tmp_path / "log").read_text().splitlines())) == (1, attempts)
    assert done.stdout.splitlines()[-1] == error


def test_no_service_is_started_by_its_package(shadowing: Path, tmp_path: Path) -> None:
    policy = shadowing / "policy-rc.d"
    script(shadowing / "apt-get", f'"{policy}"; echo "$2 $?" >>log\n')
    assert call(tmp_path, ROOT / "tools/apt_get.sh", "some", shadowing=shadowing).returncode == 0
    assert (tmp_path / "log").read_text().splitlines() == ["update 101", "install 101"]
    assert not policy.exists()


def test_the_machines_own_policy_for_services_stays(shadowing: Path, tmp_path: Path) -> None:
    script(shadowing / "apt-get", "exit 0\n")
    script(shadowing / "policy-rc.d", "exit 104\n")
    assert call(tmp_path, ROOT / "tools/apt_get.sh", "some", shadowing=shadowing).returncode == 0
    assert (shadowing / "policy-rc.d").read_text() == "#!/bin/sh\nexit 104\n"


def test_a_step_that_fails_says_which_and_what_to_do(tmp_path: Path) -> None:
    words = ("some step: a minute", "look there", "sh", "-c", "echo one; echo two >&2; exit 7")
    done = call(tmp_path, ROOT / "tools/step.sh", *words)
    assert done.returncode == 7
    assert (tmp_path / "build/logs/some-step.log").read_text() == "one\ntwo\n"
    assert re.sub(r"\d+:\d\d", "M:SS", done.stderr).splitlines() == [
        "== some step: a minute",
        "one",
        "two",
        "failed after M:SS: some step: a minute",
        "all of its output: build/logs/some-step.log",
        "what to do: look there",
    ]


def test_a_step_that_takes_longer_shows_how_far_it_is(shadowing: Path, tmp_path: Path) -> None:
    """The fifth look is after five seconds, were it not for the sleep that does not."""
    script(shadowing / "sleep", "exec /bin/sleep 0.01\n")
    command = "echo '[3/9] Building some.cpp'; while [ $(wc -l <shown) -lt 2 ]; do /bin/sleep 0.01; done"
    shown = tmp_path / "shown"
    with shown.open("w") as stream:
        around = os.environ | {"PATH": f"{shadowing}:{os.environ['PATH']}"}
        words = [ROOT / "tools/step.sh", "build", "look", "sh", "-c", command]
        subprocess.run(words, cwd=tmp_path, env=around, stderr=stream, timeout=60, check=True)
    lines = shown.read_text().splitlines()
    assert lines[0] == "== build"
    assert lines[1].endswith("[3/9] Building some.cpp")
    assert lines[-1].endswith("done")


@pytest.mark.parametrize(
    ("name", "goal", "reason"),
    [
        ("with:colon", "compare", "no folder with a colon in its path"),
        ("with space", "test", "a path with a space"),
    ],
)
def test_a_folder_that_cannot_work_is_refused_at_once(
    tmp_path: Path, name: str, goal: str, reason: str
) -> None:
    folder = tmp_path / name
    folder.mkdir()
    shutil.copy(ROOT / "Makefile", folder)
    done = call(folder, "make", goal)
    assert done.returncode == 2
    assert reason in done.stderr
    assert name in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""
