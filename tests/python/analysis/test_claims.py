"""Claims on results whose truth is known: four allocators, each with its own law of time against threads."""

import copy

import pytest
import synthetic

from heaplab.analysis import claims
from heaplab.analysis.claims import ClaimResult
from heaplab.errors import UsageError
from heaplab.results import spec

LAWS = {
    "glibc": lambda threads: threads,
    "flat": lambda threads: 0.5,
    "twin": lambda threads: 0.5,
    "falling": lambda threads: 2 / threads,
}
SWEEP = {"threads": [1, 2, 4]}


def study_of(path, allocators=LAWS, blocks=5, without=None):
    """`without`: an allocator and a number of threads that have no runs."""

    def effect(name, cell):
        return LAWS[name.removesuffix("#again")](cell["threads"]), 1.0

    laws = synthetic.experiment("laws", "acdc", SWEEP, [])
    records = synthetic.campaign(allocators, [laws], blocks=blocks, noise=0.002, drift=0.0, effect=effect)
    kept = synthetic.only(records, lambda run: (run.allocator, run.cell["threads"]) != without)
    return synthetic.analysis_of(kept, path).studies[0]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return study_of(tmp_path_factory.mktemp("claims"))


def outcome(study, test, **arguments):
    """What comes of one expectation."""
    expecting = copy.copy(study)
    expectation = spec.Expectation(says="It is so.", test=test, arguments=arguments)
    expecting.experiment = study.experiment.model_copy(update={"expectations": [expectation]})
    (found,) = claims.evaluate_study(expecting)
    return found


# Over the three cells the geometric means are: glibc 2, flat and twin 0.5, falling 1.
HOLDS = [
    ("better_than", {"allocator": "flat"}),
    ("better_than", {"allocator": "flat", "than": "falling", "by": 0.9}),
    ("better_than", {"allocator": ["flat", "twin", "falling"]}),
    ("better_than", {"allocator": "flat", "metric": "throughput"}),
    ("better_than", {"allocator": "flat", "metric": "throughput", "by": 2.8}),
    ("better_than", {"allocator": "falling", "threads": [2, 4]}),
    ("ratio_within", {"allocator": "flat", "low": 0.24, "high": 0.26}),
    ("ratio_within", {"allocator": "falling", "threads": 1, "low": 1.9, "high": 2.1}),
    ("ratio_within", {"allocator": "flat", "metric": "throughput", "low": 3.8}),
    ("order", {"allocator": ["flat", "falling", "glibc"]}),
    ("order", {"allocator": ["flat", "falling", "glibc"], "metric": "throughput"}),
    ("increases_with", {"along": "threads", "allocator": "glibc", "factor": 1.9}),
    ("decreases_with", {"along": "threads", "allocator": "falling", "factor": 1.9}),
    ("flat_with", {"along": "threads", "allocator": ["flat", "twin"]}),
    (
        "value_within",
        {"along": "threads", "value": 2, "than": 1, "allocator": "glibc", "low": 1.9, "high": 2.1},
    ),
    ("value_within", {"along": "threads", "value": 4, "than": 2, "allocator": "falling", "high": 0.6}),
]
FAILS = [
    ("better_than", {"allocator": "flat", "by": 3.2}),
    ("better_than", {"allocator": "flat", "metric": "throughput", "by": 3.2}),
    ("better_than", {"allocator": "glibc", "than": "flat"}),
    ("better_than", {"allocator": "twin", "than": "flat"}),
    ("better_than", {"allocator": "glibc", "than": "flat", "metric": "throughput"}),
    ("better_than", {"allocator": ["flat", "falling"], "threads": 1}),
    ("ratio_within", {"allocator": "flat", "low": 0.26}),
    ("ratio_within", {"allocator": "flat", "high": 0.24}),
    ("order", {"allocator": ["falling", "flat", "glibc"]}),
    ("order", {"allocator": ["flat", "twin"]}),
    ("increases_with", {"along": "threads", "allocator": "glibc", "factor": 2.1}),
    ("increases_with", {"along": "threads"}),
    ("decreases_with", {"along": "threads", "allocator": "flat"}),
    ("flat_with", {"along": "threads", "allocator": "glibc"}),
    ("flat_with", {"along": "threads", "allocator": "falling"}),
    ("value_within", {"along": "threads", "value": 2, "than": 1, "allocator": "glibc", "low": 2.1}),
]
OPEN = [
    ("better_than", {"allocator": "flat", "by": 3.0}),  # the interval holds the edge, a quarter
    ("better_than", {"allocator": ["flat", "falling"], "by": 1.0}),  # of the second it holds the edge, a half
    ("ratio_within", {"allocator": "flat", "low": 0.25}),
    ("increases_with", {"along": "threads", "allocator": "glibc", "factor": 2}),
]


@pytest.mark.parametrize(
    ("expected", "test", "arguments"),
    [(ClaimResult.HOLDS, *case) for case in HOLDS]
    + [(ClaimResult.FAILS, *case) for case in FAILS]
    + [(ClaimResult.OPEN, *case) for case in OPEN],
)
def test_a_sentence_is_judged_by_the_planted_truth(study, expected, test, arguments):
    found = outcome(study, test, **arguments)
    assert found.result is expected, found.figures
    assert "×" in found.figures


STATED = [
    # flat is a quarter of glibc: four times as fast, which is within a third of three to five times
    ({"allocator": "flat", "amount": 0.3}, "holds", "holds"),
    ({"allocator": "flat", "amount": 0.34}, "holds", "does not hold"),
    ({"allocator": "flat", "amount": [0.4, 0.2]}, "holds", "holds"),
    ({"allocator": "flat", "amount": 4}, "does not hold", "does not hold"),
    ({"allocator": "flat", "metric": "throughput", "amount": 4}, "holds", "holds"),
    ({"allocator": "flat", "low": 0.2, "amount": 4}, "holds", "does not hold"),
    ({"allocator": "flat", "than": "twin", "amount": 1.0078}, "does not hold", "does not hold"),
]


@pytest.mark.parametrize(("arguments", "direction", "amount"), STATED)
def test_direction_and_amount_have_a_verdict_each(study, arguments, direction, amount):
    found = outcome(study, "ratio_within", **arguments)
    assert found.verdict == f"direction {direction}, amount {amount}", found.figures
    assert found.result == (ClaimResult.HOLDS if direction == amount == "holds" else ClaimResult.FAILS)
    assert "as stated: " in found.figures


@pytest.mark.parametrize(
    ("stated", "low", "high"),
    [(4, 3, 5), (1.25, 1.167, 1.333), (0.1, 1 / 13, 1 / 7), (0.8, 0.75, 0.857), ([13, 18], 9, 23.67)],
)
def test_an_amount_has_a_third_of_the_stated_change_to_spare(stated, low, high):
    region = claims.around(stated if isinstance(stated, list) else [stated])
    assert (region.low, region.high) == (pytest.approx(low, rel=1e-3), pytest.approx(high, rel=1e-3))


def test_every_other_that_is_named_must_be_beaten(study):
    assert (
        outcome(study, "better_than", allocator="flat", than=["glibc", "falling"]).result is ClaimResult.HOLDS
    )
    assert outcome(study, "better_than", allocator="flat", than=["glibc", "twin"]).result is ClaimResult.FAILS
    lacking = outcome(study, "better_than", allocator="flat", than=["glibc", "nemo"])
    assert lacking.result is ClaimResult.UNTESTED
    assert lacking.figures == "flat / glibc 0.25× (0.25–0.25); flat / nemo was not measured in all cells"


def test_allocators_that_cannot_be_had_are_named(study):
    expecting = copy.copy(study)
    arguments = {"allocator": "flat"}
    expectations = [
        spec.Expectation(says="?", test="better_than", arguments=arguments, unobtainable=["Hoard"]),
        spec.Expectation(says="?", test="unobtainable", unobtainable=["llalloc", "Hoard"]),
    ]
    expecting.experiment = study.experiment.model_copy(update={"expectations": expectations})
    beaten, unknown = claims.evaluate_study(expecting)
    assert (beaten.result, beaten.figures) == (
        ClaimResult.HOLDS,
        "flat / glibc 0.25× (0.25–0.25); not obtainable: Hoard",
    )
    assert (unknown.result, unknown.figures) == (ClaimResult.UNTESTED, "not obtainable: llalloc, Hoard")


def test_the_figures_name_allocators_ratio_and_interval(study):
    assert outcome(study, "better_than", allocator="flat").figures == "flat / glibc 0.25× (0.25–0.25)"
    text = outcome(study, "increases_with", along="threads", allocator="glibc").figures
    assert text.startswith("glibc, threads 2 / 1: 2.0")


def test_a_trend_ends_where_threads_have_no_cpu_of_their_own(study):
    """Four threads on two CPUs take turns."""
    found = outcome(study, "flat_with", along="threads", allocator="glibc", factor=2.5)
    assert found.result is ClaimResult.HOLDS


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"allocator": "nemo"}, "nemo / glibc was not measured"),
        ({"allocator": "flat", "than": "nemo"}, "flat / nemo was not measured"),
        ({"allocator": "flat", "threads": 64}, "no cell of this scale"),
        ({"allocator": "flat", "metric": "mood"}, "no metric 'mood'"),
        ({"allocator": "glibc"}, "nothing was measured"),
    ],
)
def test_a_sentence_about_what_was_not_measured_cannot_be_decided(study, arguments, reason):
    found = outcome(study, "better_than", **arguments)
    assert found.result is ClaimResult.UNTESTED
    assert reason in found.figures


def test_a_sentence_about_a_value_that_was_not_swept_here_cannot_be_decided(study):
    found = outcome(study, "value_within", along="threads", value=64, than=1, low=2)
    assert found.result is ClaimResult.UNTESTED
    assert "was not measured in all cells" in found.figures


def test_without_values_of_a_cell_a_sentence_about_all_cells_cannot_be_decided(tmp_path):
    holed = study_of(tmp_path, without=("flat", 4))
    assert outcome(holed, "better_than", allocator="flat").result is ClaimResult.UNTESTED
    assert outcome(holed, "better_than", allocator="flat", threads=[1, 2]).result is ClaimResult.HOLDS


def test_the_allocators_of_sentences_are_known_without_results():
    of_value = {"along": "threads", "value": 2, "than": 1, "allocator": "d"}
    expectations = [
        spec.Expectation(says="?", test="better_than", arguments={"allocator": ["b", "a"], "than": "c"}),
        spec.Expectation(says="?", test="value_within", arguments=of_value),
    ]
    laws = synthetic.experiment("laws", "acdc", SWEEP, [], expectations=expectations)
    assert claims.allocators_of(laws) == ["b", "a", "c", "d"]


def test_one_block_decides_nothing(tmp_path):
    found = outcome(study_of(tmp_path, ["glibc", "flat"], blocks=1), "better_than", allocator="flat")
    assert found.result is ClaimResult.OPEN
    assert found.figures == "flat / glibc 0.25× (no interval)"


@pytest.mark.parametrize(
    ("test", "arguments", "complaint"),
    [
        ("faster_than", {}, "'faster_than' is none of better_than, "),
        ("better_than", {}, "needs the argument 'allocator'"),
        ("value_within", {"along": "threads", "value": 2}, "needs the argument 'than'"),
        ("flat_with", {"along": "objects"}, "'objects' is not a swept parameter"),
        (
            "better_than",
            {"allocator": "flat", "objects": 3},
            "'objects' is neither an argument of it nor a swept",
        ),
        ("order", {"allocator": ["flat", "twin"], "than": "glibc"}, "'than' is neither"),
        ("better_than", {"allocator": "flat", "by": "much"}, "'by' is a number, not 'much'"),
        ("flat_with", {"along": "threads", "factor": True}, "'factor' is a number, not True"),
        ("order", {"allocator": "flat"}, "at least two"),
        ("ratio_within", {"allocator": "flat", "amount": [0.9, 1.1]}, "one side of 1"),
        ("ratio_within", {"allocator": "flat", "amount": "much"}, "'amount' is a number, not 'much'"),
        ("better_than", {"allocator": "flat", "amount": 2}, "'amount' is neither"),
        ("increases_with", {"along": "threads", "than": ["a"]}, "'than' is neither"),
    ],
)
def test_an_expectation_that_is_no_test_is_refused_with_its_name(test, arguments, complaint):
    expectation = spec.Expectation(says="It is so.", test=test, arguments=arguments)
    experiment = synthetic.experiment("laws", "acdc", SWEEP, [], expectations=[expectation])
    with pytest.raises(UsageError) as refused:
        claims.check(experiment)
    assert str(refused.value).startswith("laws: expectation '")
    assert complaint in str(refused.value)
    assert "\n" not in str(refused.value)


def test_every_test_the_description_lists_exists():
    listed = {line.split("`")[1] for line in claims.__doc__.splitlines() if line.startswith("| `")}
    assert listed == set(claims.TESTS)
