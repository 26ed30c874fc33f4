"""Carries out the steps of a GitHub action or job as a runner would, as far as this project's steps go.

A step's shell runs as it stands. Of the actions that steps use, caches and the upload of artifacts are
played; any other is an error, and so is an expression that is not known.
"""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ACTION = Path(__file__).parents[3] / "action.yml"
EXPRESSION = re.compile(r"\$\{\{ *([^}]+?) *\}\}")


@dataclass
class Ended:
    """What a run of an action left: its outputs, what it printed, its page and its artifacts."""

    failed: bool
    outputs: dict[str, str]
    printed: str
    summary: str
    artifacts: dict[str, Path]
    ran: list[str]  # the shell of each step that was carried out


@dataclass
class Runner:
    """One machine: caches outlive a run."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)
    caches: dict[str, Path] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)  # caches of one file
    jobs: int = 0
    missed: dict[str, Path] = field(default_factory=dict)  # what the present job looked for in vain

    def action(self, checkout: Path, inputs: dict[str, str], action: Path = ACTION) -> Ended:
        """Run an action of this repository in a job's checkout."""
        described = yaml.safe_load(action.read_text())
        assert set(inputs) <= set(described["inputs"])
        given = {name: declared.get("default", "") for name, declared in described["inputs"].items()} | inputs
        shutil.rmtree(self.folder, ignore_errors=True)
        (self.folder / "temp").mkdir(parents=True)
        self.jobs += 1
        known = {"github.token": "token of the job", "github.action_path": str(action.parent)}
        known |= {f"inputs.{name}": filled(value, known) for name, value in given.items()}
        known["runner.temp"] = str(self.folder / "temp")
        ended = Ended(False, {}, "", "", {}, [])
        for step in described["runs"]["steps"]:
            if self.wanted(step.get("if", ""), known, ended.failed):
                self.step(step, checkout, known, ended)
        for key, place in self.missed.items():
            if not ended.failed:  # the end of a job that failed keeps no cache
                self.caches[key] = self.folder.with_name(key)
                shutil.copytree(place, self.caches[key], symlinks=True)
        self.missed.clear()
        page = self.folder / "summary.md"
        ended.summary = page.read_text() if page.exists() else ""
        for name, output in described.get("outputs", {}).items():
            ended.outputs[name] = filled(output["value"], known)
        return ended

    @staticmethod
    def wanted(condition: str, known: dict[str, str], failed: bool) -> bool:
        if condition == "always()":
            return True
        if found := re.fullmatch(r"(\S+) != '(\w*)'", condition):
            return not failed and known.get(found[1], "") != found[2]
        assert not condition, condition
        return not failed

    def step(self, step: dict[str, Any], checkout: Path, known: dict[str, str], ended: Ended) -> None:
        given = {name: filled(text, known) for name, text in (step.get("with") or {}).items()}
        match step.get("uses", "").partition("@")[0]:
            case "":
                self.shell(step, checkout, known, ended)
            case "actions/cache":
                self.cache(step["id"], given, known)
            case "actions/cache/restore":
                self.restore(checkout / given["path"], given)
            case "actions/cache/save":
                self.files[given["key"]] = (checkout / given["path"]).read_bytes()
            case "actions/upload-artifact":
                ended.artifacts[given["name"]] = checkout / given["path"]
            case other:
                raise AssertionError(f"{other}: not known")

    def cache(self, name: str, given: dict[str, str], known: dict[str, str]) -> None:
        place, kept = Path(given["path"]), self.caches.get(given["key"])
        if kept:
            shutil.copytree(kept, place, symlinks=True)
            known[f"steps.{name}.outputs.cache-hit"] = "true"
        else:
            self.missed[given["key"]] = place

    def restore(self, file: Path, given: dict[str, str]) -> None:
        """Write the file that was saved under the key, or else the last under a key that begins so."""
        begins = given["key"], given["restore-keys"]
        found = [kept for begin in begins for key, kept in self.files.items() if key.startswith(begin)]
        if found:
            file.write_bytes(found[-1])

    def shell(self, step: dict[str, Any], checkout: Path, known: dict[str, str], ended: Ended) -> None:
        assert step["shell"] == "bash"
        assert not EXPRESSION.search(step["run"]), "an input in a script is carried out: pass it in env"
        output = self.folder / "output"
        output.write_text("")
        (self.folder / "step.sh").write_text(step["run"])
        own = {name: filled(text, known) for name, text in step.get("env", {}).items()}
        ran = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", self.folder / "step.sh"],
            cwd=checkout,
            env=os.environ | self.environment | self.of_runner(output) | own,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        ended.ran.append(step["run"])
        ended.printed += ran.stdout
        ended.failed |= ran.returncode != 0
        for line in output.read_text().splitlines():
            name, _, value = line.partition("=")
            known[f"steps.{step['id']}.outputs.{name}"] = value

    def of_runner(self, output: Path) -> dict[str, str]:
        return {
            "GITHUB_OUTPUT": str(output),
            "GITHUB_STEP_SUMMARY": str(self.folder / "summary.md"),
            "RUNNER_TEMP": str(self.folder / "temp"),
            "RUNNER_OS": "Linux",
            "RUNNER_ARCH": "X64",
            "GITHUB_RUN_ID": str(self.jobs),
            "GITHUB_RUN_ATTEMPT": "1",
        }


def filled(text: str, known: dict[str, str]) -> str:
    """The text with its expressions replaced; what a step did not tell is empty."""

    def value(found: re.Match[str]) -> str:
        assert found[1] in known or found[1].startswith("steps."), found[1]
        return known.get(found[1], "")

    return EXPRESSION.sub(value, str(text))
