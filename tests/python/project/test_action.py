"""The GitHub action and the workflow of the documentation: every step's shell is carried out here.

What pip installs is a wheel of the test, whose `heaplab` is the one under test with a small catalog.
"""

import json
import os
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs
from xml.etree import ElementTree

import pytest
import yaml
from action_runner import Ended, Runner
from subprocesses import compiled, git, wheel_of, written

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
WORKFLOWS = ("gate", "baseline", "comment")
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


PUSHED = {"GITHUB_EVENT_NAME": "push", "GITHUB_REF_NAME": "main", "GITHUB_BASE_REF": ""}
ASKED = {"GITHUB_EVENT_NAME": "pull_request", "GITHUB_REF_NAME": "7/merge", "GITHUB_BASE_REF": "main"}


@pytest.mark.starts_programs
def test_a_push_keeps_the_baseline_by_which_a_pull_request_is_judged(wheel: Path, tmp_path: Path) -> None:
    runner = Runner(tmp_path / "runner")
    checkout = written(tmp_path / "checkout", {"README": ""})
    steps = "int main(void) { for (volatile int i = 0; i < STEPS; ++i) {} }"
    program = str(compiled(tmp_path / "stepping", steps, "-DSTEPS=100000"))
    limits = "--budget 100s --instructions only-callgrind --max-instructions 1%"
    given = {"baseline": "kept.json", "program": program, "options": limits}

    def job(event: dict[str, str], **more: str) -> Ended:
        runner.environment = event
        (checkout / "kept.json").unlink(missing_ok=True)
        return acted(runner, checkout, wheel, **given, **more)

    without = job(ASKED)
    assert (without.outputs["status"], without.failed) == ("0", False), without.printed
    assert without.summary.startswith("**heaplab gate: COULD NOT TELL: main has kept no baseline yet")
    assert (job(ASKED, strict="true").failed, runner.files) == (True, {})
    assert job(PUSHED).outputs["status"] == "0"
    (key,) = runner.files
    assert key.startswith("heaplab-baseline:heaplab:main:")
    assert job(ASKED).summary.startswith("**heaplab gate: NOT WORSE")
    compiled(tmp_path / "stepping", steps, "-DSTEPS=200000")
    worse = job(ASKED)
    assert (worse.outputs["status"], worse.failed) == ("3", True), worse.printed
    assert worse.summary.startswith("**heaplab gate: WORSE: 1 of 1")
    assert list(runner.files) == [key]


# ---------------------------------------------------------------- the comment

COMMENT = ROOT / ".github" / "actions" / "comment" / "action.yml"
HEAD = "0123abc"
MARK = "<!-- heaplab: heaplab -->"
FORK = {"owner": {"login": "somebody"}}


class Hub(BaseHTTPRequestHandler):
    """A stand-in of GitHub's API: one open pull request from a fork, and its comments."""

    comments: ClassVar[list[dict[str, Any]]] = []
    authorized: ClassVar[set[str]] = set()

    def do_GET(self) -> None:
        place, _, asked = self.path.partition("?")
        if place == "/repos/us/it/pulls":
            heads = [HEAD] if parse_qs(asked)["head"] == ["somebody:patch-1"] else []
            self.answer([{"number": 7, "head": {"sha": sha}} for sha in heads])
        else:
            assert place == "/repos/us/it/issues/7/comments"
            self.answer(self.comments if parse_qs(asked)["page"] == ["1"] else [])

    def do_POST(self) -> None:
        assert self.path == "/repos/us/it/issues/7/comments"
        self.comments.append({"id": 100 + len(self.comments), "user": {"type": "Bot"}, "body": self.body()})
        self.answer({})

    def do_PATCH(self) -> None:
        number = int(self.path.removeprefix("/repos/us/it/issues/comments/"))
        (found,) = [comment for comment in self.comments if comment["id"] == number]
        found["body"] = self.body()
        self.answer({})

    def body(self) -> str:
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"]

    def answer(self, content: object) -> None:
        self.authorized.add(self.headers["Authorization"])
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(content).encode())

    def log_message(self, *_: object) -> None:
        pass


def test_a_pull_request_of_a_fork_gets_one_comment_which_is_updated(tmp_path: Path) -> None:
    Hub.comments = [{"id": 5, "user": {"type": "User"}, "body": f"{MARK} a person's"}]
    runner, event = Runner(tmp_path / "runner"), tmp_path / "event.json"
    run: dict[str, Any] = {"head_repository": FORK, "head_branch": "patch-1", "html_url": "there"}
    checkout = written(tmp_path / "checkout", {"heaplab/table.md": "| worse | @everybody |\n"})
    with HTTPServer(("127.0.0.1", 0), Hub) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        api = f"http://127.0.0.1:{server.server_port}"
        place = {"GITHUB_API_URL": api, "GITHUB_REPOSITORY": "us/it", "GITHUB_EVENT_PATH": str(event)}
        runner.environment = place

        def said(head: str) -> str:
            event.write_text(json.dumps({"workflow_run": {**run, "head_sha": head}}))
            ended = runner.action(checkout, {}, COMMENT)
            assert not ended.failed, ended.printed
            return ended.printed

        assert "pull request 7: comment written" in said(HEAD)
        assert Hub.comments[-1]["body"].startswith(f"{MARK}\n| worse | &#64;everybody |\n")
        (checkout / "heaplab" / "table.md").unlink()
        (checkout / "heaplab" / "table.md").symlink_to(event)
        assert "pull request 7: comment updated" in said(HEAD)
        run["head_repository"] = None  # as where a fork is gone
        assert "no open pull request has 0123abc as its head" in said(HEAD)
        run["head_repository"] = FORK
        assert "no open pull request has 9999 as its head" in said("9999")
        server.shutdown()
    first, second = Hub.comments
    assert first["body"].endswith("a person's")
    assert second["body"].startswith(f"{MARK}\n**heaplab gate** left no table.")
    assert f"Measured at {HEAD}: [the run](there)" in second["body"]
    assert Hub.authorized == {"Bearer token of the job"}


def test_the_workflows_of_the_documentation_use_what_is_here() -> None:
    gates = {name: yaml.safe_load((ROOT / "docs" / f"{name}-workflow.yml").read_text()) for name in WORKFLOWS}
    (used,) = [
        step for step in gates["baseline"]["jobs"]["gate"]["steps"] if "heaplab@" in step.get("uses", "")
    ]
    assert set(used["with"]) <= set(yaml.safe_load((ROOT / "action.yml").read_text())["inputs"])
    comment = gates["comment"]
    assert (
        comment[True]["workflow_run"]["workflows"] == [gates["gate"]["name"]] == [gates["baseline"]["name"]]
    )
    place = comment["jobs"]["comment"]["steps"][-1]["uses"].removeprefix("OWNER/heaplab/").partition("@")[0]
    assert ROOT / place / "action.yml" == COMMENT


@pytest.mark.parametrize(
    ("inputs", "status", "said"),
    [
        ({"command": "run"}, "", "::error::command: run is neither gate nor compare"),
        ({"options": "'--budget"}, "", "::error::options: a quotation mark has no second one"),
        ({"benchmarks": "larson\ncfrac\n"}, "2", "no suite 'cfrac'; known: "),
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
