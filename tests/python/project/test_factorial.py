"""The effects that research/factorial.py finds are those that were planted, and no others."""

import importlib
from math import exp, log
from pathlib import Path
from types import ModuleType

import pytest

from heaplab.catalog import contents as catalogs

RESEARCH = Path(__file__).parents[3] / "research"
DESIGNS = list(catalogs.load().experiments["left-open/dimensions"].presets["design"])
PLANTED = {"D": log(0.5), "VL": log(1.2)}


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(RESEARCH)
    return importlib.import_module("factorial")


def test_planted_effects_are_found_and_no_others(tool: ModuleType) -> None:
    block = {
        design: sum(tool.sign(design, effect) * size / 2 for effect, size in PLANTED.items())
        for design in DESIGNS
    }
    assert len(block) == 16
    for effect in tool.EFFECTS:
        assert tool.contrast(block, effect) == pytest.approx(PLANTED.get(effect, 0.0), abs=1e-12), effect


def test_the_options_of_a_design_are_those_of_its_letters() -> None:
    presets = catalogs.load().experiments["left-open/dimensions"].presets["design"]
    high = {"D": ("accesses", 1), "L": ("stay", 256), "U": ("slots", 2048), "C": ("threads", 2)}
    for design, options in presets.items():
        assert ("V" in design) == ("least-size" in options)
        for letter, (name, value) in high.items():
            assert (letter in design) == (options[name] == value), (design, name)


def test_the_interval_of_blocks_is_students(tool: ModuleType) -> None:
    middle, low, high = tool.interval([log(0.9), log(1.1)])
    assert middle == pytest.approx((0.9 * 1.1) ** 0.5)
    half = 12.706 * (log(1.1) - log(0.9)) / 2  # t of one degree of freedom; s / sqrt(2) is half the distance
    assert (low, high) == pytest.approx((middle * exp(-half), middle * exp(half)), rel=1e-3)
