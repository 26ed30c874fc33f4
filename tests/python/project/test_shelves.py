"""The recipes of packaging/ need what the project needs, in the version that stands in one place."""

import json
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
VERSION = re.findall(r"project\(heaplab VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[0]


def lower_bounds() -> dict[str, str]:
    """The least version of each package that heaplab needs to run."""
    return dict(requirement.split(">=") for requirement in PROJECT["dependencies"])


def test_the_port_of_vcpkg_has_the_version() -> None:
    port = json.loads((ROOT / "packaging/vcpkg/heaplab-local/vcpkg.json").read_text())
    assert port["version"] == VERSION


def test_the_recipe_of_conda_needs_what_the_project_needs() -> None:
    recipe = (ROOT / "packaging/conda/recipe.yaml").read_text()
    run = recipe.partition("  run:\n")[2].partition("\ntests:")[0]
    needed = dict(re.findall(r"^    - ([\w-]+) >=([\d.]+)$", run, re.MULTILINE))
    assert len(needed) == len(run.strip().split("\n"))
    needed["matplotlib"] = needed.pop("matplotlib-base")
    assert needed.pop("python") == PROJECT["requires-python"].removeprefix(">=")
    assert needed == lower_bounds()


class Directives(ModuleType):
    """Stands in for spack.package, which is on no package index, and writes down what a recipe says."""

    def __init__(self) -> None:
        super().__init__("spack.package")
        self.versions: list[str] = []
        self.needed: dict[str, str] = {}
        self.PythonPackage = object
        self.license = self.conflicts = lambda *_, **__: None

    def version(self, number: str, **_: Any) -> None:
        self.versions.append(number)

    def depends_on(self, spec: str, type: Any = ()) -> None:  # Spack's name
        name, _, bound = spec.partition("@")
        if "run" in type:
            self.needed[name.removeprefix("py-")] = bound.removesuffix(":")


def test_the_recipe_of_spack_needs_what_the_project_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    said = Directives()
    monkeypatch.setitem(sys.modules, "spack", ModuleType("spack"))
    monkeypatch.setitem(sys.modules, "spack.package", said)
    recipe = ROOT / "packaging/spack/packages/heaplab/package.py"
    exec(compile(recipe.read_text(), recipe, "exec"), {"__name__": "package", "__file__": str(recipe)})
    assert said.versions == [VERSION]
    assert said.needed.pop("python") == PROJECT["requires-python"].removeprefix(">=")
    assert said.needed == lower_bounds()


def test_no_other_recipe_states_a_version() -> None:
    for folder in ("conan", "conda", "debian", "spack"):
        for path in (ROOT / "packaging" / folder).rglob("*"):
            assert path.is_dir() or VERSION not in path.read_text(), path
