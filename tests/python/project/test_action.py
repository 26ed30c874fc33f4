"""The GitHub action and the workflow of the documentation: every step's shell is carried out here.

What pip installs is a wheel of the test, whose `heaplab` is the one under test with a small catalog.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from action_runner import Ended, Runner
from subprocesses import git, wheel_of, written

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[3]
ENTRY = "[console_scripts]\nheaplab = action_stand_in:main\n"
STAND_IN = """
import os, sys
def main():
    os.environ["PYTHONPATH"] = {path!r}
    command = [{python!r}, "-m", "heaplab", "--catalog", {catalog!r}, *sys.argv[1:]]
    at = command.index("--") if "--" in command else len(command)
    os.execv(command[0], [*command[:at], "--warm", "1B", *command[at:]])
"""
MAKEFILE = "libmine.so: mine.c\n\tcc -shared -fPIC -fno-builtin-malloc -DNAME='\"mine\"' -o $@ mine.c\n"
# A busy machine may see too little for a limit.
PASSED = ("**heaplab gate: NOT WORSE", "**heaplab gate: COULD NOT TELL")


@pytest.fixture(scope="module")
def wheel(catalog_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("action")
    catalog = folder / "catalog"
    shutil.copytree(catalog_folder, catalog)
    suite = 'title = "quick"\nexperiments = ["fake/*"]\n[names]\nlarson = "fake/one"\n'
    (catalog / "suites" / "quick.toml").write_text(suite)
    stand_in = STAND_IN.format(path=os.pathsep.join(sys.path), python=sys.executable, catalog=str(catalog))
    files = {"action_stand_in.py": stand_in, "heaplab-0.dist-info/entry_points.txt": ENTRY}
    return wheel_of(folder / "heaplab-0-py3-none-any.whl", files)


@pytest.fixture(scope="module")
def runner(wheel: Path) -> Runner:
    """A runner on which one job after the other runs."""
    return Runner(wheel.parent / "runner")


def acted(runner: Runner, checkout: Path, wheel: Path, **inputs: str) -> Ended:
    return runner.action(checkout, {"heaplab": str(wheel), "options": "--budget 10s", **inputs})


@pytest.mark.starts_programs
def test_a_job_passes_where_nothing_is_worse_and_installs_once(
    runner: Runner, wheel: Path, libraries: dict[str, Path], tmp_path: Path
) -> None:
    arms = {"old": str(libraries["slow"]), "new": str(libraries["same"]), "options": "--max-slower 90%"}
    first, second = (acted(runner, tmp_path, wheel, **arms) for _ in range(2))
    for ended in (first, second):
        assert (ended.outputs["status"], ended.failed) == ("0", False), ended.printed
    assert not any("pip" in step for step in second.ran)
    assert second.summary.startswith(PASSED)


@pytest.mark.starts_programs
def test_a_job_fails_where_the_head_is_worse_and_shows_why(
    runner: Runner, wheel: Path, libraries: dict[str, Path], tmp_path: Path
) -> None:
    arms = {"old": str(libraries["same"]), "new": str(libraries["slow"])}
    ended = acted(runner, tmp_path, wheel, benchmarks="larson", **arms)
    assert (ended.outputs["status"], ended.failed) == ("3", True), ended.printed
    assert ended.summary.startswith("**heaplab gate: WORSE: ")
    assert "::error::something is worse than it may be" in ended.printed
    folder = ended.artifacts["heaplab"]
    cases = list(ElementTree.parse(folder / "junit.xml").getroot().iter("testcase"))
    assert [case.get("name") for case in cases if case.find("failure") is not None]
    assert {"table.md", "bencher.json", "messages.txt", "results"} <= {path.name for path in folder.iterdir()}


@pytest.mark.starts_programs
def test_a_comparison_stands_on_the_page_and_words_are_not_carried_out(
    runner: Runner, wheel: Path, tmp_path: Path
) -> None:
    options = "--budget 3s --precision 90% --allocators glibc --allocator 'one=glibc MALLOC_ARENA_MAX=1'"
    program = """sh -c 'sleep 0.06' "$(touch carried-out)" """
    ended = acted(runner, tmp_path, wheel, command="compare", options=options, program=program)
    assert (ended.outputs["status"], ended.failed) == ("0", False), ended.printed
    assert ended.summary.startswith("```\n")
    assert "one" in ended.summary
    assert not (tmp_path / "carried-out").exists()


@pytest.mark.parametrize(
    ("inputs", "status", "said"),
    [
        ({"command": "run"}, "", "::error::command: run is neither gate nor compare"),
        ({"options": "'--budget"}, "", "::error::options: a quotation mark has no second one"),
        ({"benchmarks": "larson cfrac"}, "2", "no suite 'cfrac'; known: "),
        pytest.param(
            {"heaplab": "./no-such.whl"},
            "",
            "::error::pip cannot install ./no-such.whl",
            marks=pytest.mark.long,
        ),
    ],
)
def test_wrong_inputs_are_named_and_the_page_says_so(
    runner: Runner, wheel: Path, tmp_path: Path, inputs: dict[str, str], status: str, said: str
) -> None:
    ended = acted(runner, tmp_path, wheel, **{"old": "glibc", "new": "glibc", **inputs})
    assert (ended.outputs["status"], ended.failed) == (status, True)
    assert said in ended.printed
    assert ended.summary


@pytest.mark.starts_programs
def test_the_workflow_of_the_documentation_gates_head_against_base(
    runner: Runner, wheel: Path, libraries: dict[str, Path], tmp_path: Path
) -> None:
    repository = written(tmp_path / "mine", {"Makefile": MAKEFILE})
    git(repository, "init", "-q")
    source = libraries["same"].with_suffix(".c").read_text()
    for version in ("base", "head"):
        (repository / "mine.c").write_text(f'{source}const char* version = "{version}";\n')
        git(repository, "add", "-A")
        git(repository, "commit", "-qm", version)
    steps = yaml.safe_load((ROOT / "docs" / "gate-workflow.yml").read_text())["jobs"]["gate"]["steps"]
    (build,) = [step["run"] for step in steps if "run" in step]
    around = os.environ | {"BASE": git(repository, "rev-parse", "HEAD~1")}
    subprocess.run(["bash", "-eo", "pipefail", "-c", build], cwd=repository, env=around, check=True)
    (asked,) = [step["with"] for step in steps if "heaplab@" in step.get("uses", "")]
    given = {"heaplab": str(wheel), "benchmarks": "larson", "options": "--max-slower 90% --budget 10s"}
    ended = runner.action(repository, asked | given)
    assert (ended.outputs["status"], ended.failed) == ("0", False), ended.printed
    assert ended.summary.startswith(PASSED)
