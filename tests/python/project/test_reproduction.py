"""docs/reproduction.md is what the catalog and the verdicts that lie beside research/reproduction.py make."""

import importlib
from pathlib import Path
from types import ModuleType

import pytest

from heaplab.report.page import reproduced

RESEARCH = Path(__file__).parents[3] / "research"


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(RESEARCH)
    return importlib.import_module("reproduction")


def test_the_page_is_current_with_its_sources(tool: ModuleType) -> None:
    assert tool.PAGE.read_text() == tool.page_of(reproduced.load(tool.VERDICTS))
