"""The first screen's sentence, on one program whose truth is known."""

import pytest
import synthetic

from heaplab import store
from heaplab.analysis import Analysis
from heaplab.report.advice import answer

PROGRAM = [synthetic.experiments()[3]]


def answer_of(path, effects, blocks=8, noise=0.002, experiments=PROGRAM):
    records = synthetic.campaign(
        ["glibc", *effects],
        experiments,
        blocks=blocks,
        noise=noise,
        drift=0.0,
        effect=lambda name, _: effects.get(name, (1.0, 1.0)),
        faults=False,
    )
    analysis = Analysis(store.load(synthetic.write(records, path / "results.jsonl")))
    return answer(analysis, "program", analysis.standings("program"))


@pytest.mark.parametrize(
    ("effects", "advice"),
    [
        ({"swift": (0.5, 0.8)}, "Use swift: 48 % less time and 20 % less peak memory, compared with glibc."),
        ({"swift": (0.5, 1.3), "lean": (1.2, 0.9)}, "Where memory is short: lean."),
        ({"swift": (0.5, 1.5), "even": (0.6, 1.0)}, "Where only time counts: swift."),
        ({"swift": (0.5, 1.0), "twin": (0.5, 1.0)}, "does as well, as far as told apart."),
        ({"slow": (1.5, 1.2)}, "Stay with glibc: nothing here is better"),
        (
            {"swap": (0.5, 1.9)},
            "Nothing is shown to be a better trade-off than glibc; it depends. swap: 48 %",
        ),
    ],
)
def test_the_advice_is_what_was_planted(tmp_path, effects, advice):
    assert advice in answer_of(tmp_path, effects).advice


@pytest.mark.parametrize("circumstances", [{"blocks": 1}, {"noise": 0.5}])
def test_what_is_not_decided_is_not_recommended(tmp_path, circumstances):
    found = answer_of(tmp_path, {"swift": (0.9, 1.0)}, **circumstances)
    assert found.advice.startswith(
        "Stay with glibc for now: nothing is shown to be better, but swift is undecided"
    )
    assert found.leaders[0].open


def test_scores_of_memory_are_no_times(tmp_path):
    """Of two experiments one scores memory: only the other says who is fast."""
    timed, scored = PROGRAM[0], PROGRAM[0].model_copy(update={"id": "scored", "main_metric": "peak_memory"})
    for experiments, expected in (
        ([timed, scored], "Use swift: 48 % less time and 20 % less peak memory, compared with glibc."),
        ([scored], "Nothing here tells times. Leanest: swift."),
    ):
        assert answer_of(tmp_path, {"swift": (0.5, 0.8)}, experiments=experiments).advice == expected


def test_an_allocator_that_failed_is_named_and_not_ranked(tmp_path):
    records = synthetic.campaign(["glibc", "tbbmalloc"], synthetic.experiments()[4:5], blocks=10)
    analysis = Analysis(store.load(synthetic.write(records, tmp_path / "results.jsonl")))
    found = answer(analysis, "program", analysis.standings("program"))
    assert found.advice == "Nothing here was measured completely enough to give advice."
    assert found.notes == ["Not ranked, because some of its cells have no figure: tbbmalloc."]
