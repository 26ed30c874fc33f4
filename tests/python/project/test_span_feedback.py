"""The model of spans whose size follows feedback: its table is that of the page, both ends are its bounds."""

import importlib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "research")
    return importlib.import_module("span_feedback")


def test_the_page_has_what_the_model_counts(model: ModuleType) -> None:
    assert model.table() in (ROOT / "docs/what-the-papers-leave-open.md").read_text()


def test_a_span_of_two_blocks_moves_when_it_is_full_reusable_and_empty(model: ModuleType) -> None:
    """Three spans of the pool are taken; two are not hot and come back: five moves in twelve operations."""
    spans = model.SizeClass(2)
    for place in [None] * 6 + [0] * 6:
        spans.step(place)
    assert (spans.moves, spans.operations, len(spans.spans)) == (5, 12, 1)


def test_feedback_grows_where_spans_run_full_and_shrinks_where_they_come_back_hardly_used(
    model: ModuleType,
) -> None:
    spans = model.SizeClass(2, follows=True)
    for _ in range(256):
        spans.step(None)
    assert spans.blocks == 32
    while spans.live:
        spans.step(0)
    for _ in range(20):
        spans.give_back(spans.another())
    assert spans.blocks == 2


def test_feedback_lies_between_the_ends(model: ModuleType) -> None:
    for program in model.PROGRAMS:
        few, many, feedback = (model.measured(program, name) for name in model.POLICIES)
        assert many[0] <= feedback[0] < few[0] / 2
        assert few[1] <= feedback[1] <= many[1] * 1.05
