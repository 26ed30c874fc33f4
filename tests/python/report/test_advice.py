"""The first screen's sentence, on one program whose truth is known."""

import pytest
import synthetic

from heaplab.analysis import Judged, Summary
from heaplab.report.words.advice import Leader, advice, answer
from heaplab.stats import Interval, Verdict

PROGRAM = [synthetic.experiments()[3]]


def answer_of(path, effects, blocks=8, noise=0.002, experiments=PROGRAM):
    names = ["glibc", *effects]
    records = synthetic.campaign(names, experiments, blocks=blocks, noise=noise, drift=0.0, effect=effects)
    analysis = synthetic.analysis_of(records, path)
    return answer(analysis, "program", analysis.summaries("program"))


@pytest.mark.parametrize(
    ("effects", "advice"),
    [
        ({"swift": (0.5, 0.8)}, "Use swift: 48 % less time and 20 % less peak memory, compared with glibc."),
        ({"swift": (0.5, 1.3), "lean": (1.2, 0.9)}, "Where memory is short, use lean."),
        ({"swift": (0.5, 1.5), "even": (0.6, 1.0)}, "Where only time counts, use swift."),
        ({"swift": (0.5, 1.0), "twin": (0.5, 1.0)}, "swift cannot be told apart from twin."),
        ({"slow": (1.5, 1.2)}, "Stay with glibc: every other one is shown to be a worse trade-off."),
        ({"twin": (1.0, 1.0)}, "Stay with glibc: nothing here is better in time or memory"),
        ({"swap": (0.8, 2.0)}, "a worse trade-off, though swap has 19 % less time and"),
        (
            {"swap": (0.5, 1.9)},
            "Nothing is shown to be a better trade-off than glibc. It depends: swap has 48 %",
        ),
    ],
)
def test_the_advice_is_what_was_planted(tmp_path, effects, advice):
    said = answer_of(tmp_path, effects).advice
    assert advice in said
    assert said.count(":") <= 1


@pytest.mark.parametrize(
    ("effects", "beside"),
    [
        ({"quick": (0.84, 1.5)}, "quick (0.85× the time, 1.50× the memory) is as fast or faster."),
        ({"quick": (0.84, 1.5), "slow": (0.95, 1.2)}, "quick (0.85× the time, 1.50× the memory) is as fast"),
        (dict.fromkeys("abcde", (0.84, 1.5)), "the memory) and 2 more are as fast or faster."),
        ({"quick": (0.5, 1.9)}, "Where only time counts, use quick."),
    ],
)
def test_whoever_is_as_fast_as_the_advised_stands_beside_it(tmp_path, effects, beside):
    """Less time at more memory is no better trade-off, but a reader sees the smaller number in the table."""
    said = answer_of(tmp_path, {"even": (0.85, 1.0)} | effects).advice
    assert said.startswith("Use even: ")
    assert beside in said


def test_whoever_is_slower_than_the_advised_is_not_named(tmp_path):
    said = answer_of(tmp_path, {"even": (0.85, 1.0), "slow": (0.9, 1.5)}).advice
    assert said == "Use even: 14 % less time and the same peak memory to within 3 %, compared with glibc."


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
    records = synthetic.campaign(["glibc", "tbbmalloc"], synthetic.experiments()[4:5], faults=True)
    analysis = synthetic.analysis_of(records, tmp_path)
    found = answer(analysis, "program", analysis.summaries("program"))
    assert found.advice == "Nothing here was measured completely enough to give advice."
    assert found.notes == ["Not ranked, because some of its cells have no figure: tbbmalloc."]


def test_a_single_allocator_is_not_compared_and_another_is_asked_for(tmp_path):
    assert answer_of(tmp_path, {}).advice.endswith("name another allocator by --allocator.")


def test_a_trade_off_that_is_decided_is_not_called_undecided(tmp_path):
    found = answer_of(tmp_path, {"heavy": (0.97, 2.0)}, noise=0.05)
    assert found.leaders[2].names == ["glibc"]
    assert found.advice == "Stay with glibc: every other one is shown to be a worse trade-off."


def test_a_better_trade_off_is_advised_though_neither_time_nor_memory_is_decided_alone():
    alone = Judged(Interval(0.95, 0.92, 0.99, 8), Verdict.UNDECIDED)
    cost = Judged(Interval(0.95, 0.935, 0.965, 8), Verdict.LOWER)
    both = Summary("both", alone, alone, cost, 1, 1)
    leaders = [Leader("", ["both", "glibc"], "", open=True)] * 2 + [Leader("", ["both"], "")]
    near = "1 to 8 % less time and 1 to 8 % less peak memory, compared with glibc"
    said = advice("glibc", [both], leaders)
    assert said == f"Use both: {near}, and 5 % less of both together."


@pytest.mark.parametrize(
    ("low", "advised"), [(0.96, " for now: nothing"), (0.98, ": nothing here is better")]
)
def test_measuring_longer_is_advised_where_it_could_show_a_gain(low, advised):
    judged = Judged(Interval(1.01, low, 1.06, 8), Verdict.UNDECIDED)
    summary = Summary("one", judged, judged, judged, 1, 1)
    leaders = [Leader("", ["glibc", "one"], "", open=True)] * 3
    assert advice("glibc", [summary], leaders).startswith(f"Stay with glibc{advised}")


def test_without_an_interval_the_advice_says_so():
    alone = Judged(Interval(0.9, count=3), Verdict.UNDECIDED)
    cost = Judged(Interval(0.9, 0.85, 0.95, 8), Verdict.LOWER)
    leaders = [Leader("", ["one", "glibc"], "", open=True)] * 2 + [Leader("", ["one"], "")]
    said = advice("glibc", [Summary("one", alone, alone, cost, 1, 1)], leaders)
    assert said.startswith("Use one: time undecided (no interval) and peak memory undecided (no interval),")


def test_a_gain_in_one_that_costs_nothing_in_the_other_is_a_better_trade_off(tmp_path):
    found = answer_of(tmp_path, {"both": (0.92, 0.98)}, noise=0.04)  # of the mean of both: undecided
    assert (
        found.advice == "Use both: 8 % less time and the same peak memory to within 3 %, compared with glibc."
    )
    assert found.leaders[2].names == ["both"]


@pytest.mark.parametrize("noise", [0.003, 0.02, 0.06])
@pytest.mark.parametrize("time", [0.9, 0.95, 0.98, 1.02])
@pytest.mark.parametrize("memory", [0.97, 1.03, 1.15])
def test_advice_leaders_and_table_never_contradict_each_other(tmp_path, noise, time, memory):
    effects = {"one": (time, memory), "two": (time * 1.02, 1.0)}
    records = synthetic.campaign(["glibc", *effects], PROGRAM, blocks=7, noise=noise, effect=effects)
    analysis = synthetic.analysis_of(records, tmp_path)
    summaries = analysis.summaries("program")
    found = answer(analysis, "program", summaries)
    for leader, column in zip(found.leaders, ("time", "memory", "cost"), strict=True):
        verdicts = {s.allocator: getattr(s, column).verdict for s in summaries}
        if leader.names == ["glibc"]:
            assert Verdict.LOWER not in verdicts.values()
            assert column == "cost" or set(verdicts.values()) == {Verdict.HIGHER}
        elif "glibc" not in leader.names:
            assert verdicts[leader.names[0]] is Verdict.LOWER or column == "cost"
    balanced = found.leaders[2]
    assert found.advice.startswith("Use ") == ("glibc" not in balanced.names)
    if found.advice.startswith("Use "):
        assert any(found.advice.startswith(f"Use {name}: ") for name in balanced.names)
    if "nothing is shown to be better" in found.advice or "nothing here is better" in found.advice:
        assert all("glibc" in leader.names for leader in found.leaders)
        assert len(balanced.names) > 1
