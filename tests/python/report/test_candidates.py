"""Experiments that compare the values of a parameter: studies, claims, tables and page on a planted truth."""

import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import synthetic
from laboratory import WARM, Laboratory, cut_off, success

from heaplab.analysis import Analysis, Judged, Study, claims
from heaplab.analysis.claims import ClaimResult
from heaplab.campaign import plan
from heaplab.errors import UsageError
from heaplab.report.choices import choice, situation_figure, situation_tables, situations
from heaplab.report.page import report_page
from heaplab.report.tables import heat_map, interaction, summary, table_parts
from heaplab.report.tables.table_parts import Table
from heaplab.results import spec, store
from heaplab.results.records import CONTROL_SUFFIX, Metric, Run, Status
from heaplab.stats import Interval, Verdict

STRATEGIES = ["AS1", "AS2", "AS3", "AS4", "AS7"]
DIMENSIONS = dict.fromkeys(
    heat_map.DIMENSIONS, spec.MetricSpec(title="a dimension", unit="1", better="neither")
)
WORKLOAD = synthetic.workload("growth").model_copy(
    update={"metrics": synthetic.workload("growth").metrics | DIMENSIONS}
)
# Time relative to AS1 in a fresh heap, and what an aged heap makes of it.
TIMES = {"AS1": 1.0, "AS2": 1.1, "AS3": 0.5, "AS4": 0.4, "AS7": 1.25, "AS7-synchronized": 1.5}
AGED = dict.fromkeys(TIMES, 1.5) | {"AS1": 2.0, "AS2": 2.0}
MEMORY = {"AS3": 2.0, "AS4": 2.0}  # relative to the others
UNDER = {"glibc": 1.0, "quick": 0.3}  # what AS1 and AS2 take of glibc's time


def effect(allocator: str, cell: dict) -> tuple[float, float]:
    strategy = cell["strategy"]
    time = TIMES[strategy] * (AGED[strategy] if cell["heap"] == "aged" else 1.0)
    if strategy in ("AS1", "AS2"):
        time *= UNDER[allocator.removesuffix(CONTROL_SUFFIX)]
    return time * cell["elements"], MEMORY.get(strategy, 1.0)


def experiment(**changes: object) -> spec.Experiment:
    sweep = {
        "structure": ["DS1", "DS2"],
        "elements": [1, 4],
        "heap": ["fresh", "aged"],
        "strategy": STRATEGIES,
    }
    plot = spec.Plot
    by_strategy = {"kind": "heat", "x": "strategy", "y": "allocation_time", "rows": "elements"}
    fields = {
        "title": "Structures that grow",
        "publication": "P0213R0",
        "compare": spec.ComparedParameter(along="strategy", reference="AS1"),
        "presets": {"heap": {"fresh": {"fragments": 0}, "aged": {"fragments": 9, "freed": 50}}},
        "main_metric": "allocation_time",
    }
    plots = [
        plot(figure="Table 4", **by_strategy),
        plot(relative_to="AS1", **by_strategy),
        plot(figure="Table 19", relative_to="AS1", against={"heap": "fresh"}, **by_strategy),
        plot(kind="heat", x="elements", y="allocation_time", rows="structure", against={"heap": "fresh"}),
        plot(figure="Table 8", kind="summary", y="allocation_time", rows="structure"),
        plot(figure="Table 20", kind="summary", y="allocation_time", against={"heap": "fresh"}),
    ]
    return synthetic.experiment("p0213/growth", "growth", sweep, plots, **(fields | changes))


def records_of(each: spec.Experiment, allocators: list[str], blocks: int = 5, unit: float = 1.0) -> list:
    head, host, *rest = synthetic.campaign(allocators, [])
    head = head.model_copy(
        update={"experiments": [each.model_dump(mode="json")], "workloads": {"growth": WORKLOAD.model_dump()}}
    )
    generator, runs = np.random.default_rng(3), []
    for comparison in plan.comparisons(head):
        for number in range(blocks):
            for cell, allocator in plan.block(head, comparison, number).order:
                place = (each, dict(cell.swept), allocator, number, len(runs), unit, 0.002, generator, effect)
                runs.append(with_dimensions(synthetic.run(*place)))
    return [head, host, *rest[:-1], *runs, rest[-1]]


def with_dimensions(run: Run) -> Run:
    value = 0.25 * float(run.cell["elements"]) if run.cell["strategy"] == "AS1" else 9.0
    return synthetic.with_metrics(run, dict.fromkeys(heat_map.DIMENSIONS, Metric(value=value, unit="1")))


@pytest.fixture(scope="module")
def analysis(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    return synthetic.analysis_of(records_of(experiment(), ["glibc"]), tmp_path_factory.mktemp("one"))


@pytest.fixture(scope="module")
def study(analysis: Analysis) -> Study:
    return analysis.studies[0]


@pytest.fixture(scope="module")
def crossed(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    return synthetic.analysis_of(records_of(experiment(), ["glibc", "quick"]), tmp_path_factory.mktemp("two"))


def texts(table: Table) -> dict[str, list[str]]:
    return {row: [entry.text for entry in entries] for row, entries in table.rows}


def test_the_candidates_are_the_compared_values_and_the_control_is_the_references(study: Study) -> None:
    assert (study.axis, study.baseline, study.candidates) == ("strategy", "AS1", STRATEGIES)
    assert len(study.cells) == 8
    assert {len(runs) for runs in study.good.values()} == {5}
    assert all(study.ratio(cell, study.control, "allocation_time").bounded for cell in study.cells)
    assert study.ratio(study.cells[0], "AS3", "allocation_time").estimate == pytest.approx(0.5, rel=0.01)


def test_a_parameter_that_is_a_setting_stands_for_several(study: Study) -> None:
    experiment_of = study.experiment
    swept = {"structure": "DS1", "elements": 1, "strategy": "AS3"}
    fresh, aged = (experiment_of.resolved("quick", swept | {"heap": heap}) for heap in ("fresh", "aged"))
    assert fresh == swept | {"fragments": 0}
    assert aged == swept | {"fragments": 9, "freed": 50}


HOLDS = [
    ("better_than", {"strategy": "AS3", "by": 0.5}),
    ("ratio_within", {"strategy": "AS2", "low": 1.09, "high": 1.11}),
    ("ratio_within", {"strategy": "AS4", "than": "AS3", "low": 0.79, "high": 0.81}),
    ("mean_within", {"strategy": ["AS2", "AS4"], "than": ["AS1", "AS3"], "low": 0.93, "high": 0.945}),
    ("mean_within", {"strategy": ["AS3", "AS4"], "heap": "fresh", "low": 0.44, "high": 0.455}),
    ("order", {"strategy": ["AS4", "AS3", "AS1"]}),
    ("increases_with", {"along": "elements", "strategy": "AS7", "factor": 3.9}),
    ("value_within", {"along": "heap", "value": "aged", "than": "fresh", "strategy": "AS1", "low": 1.98}),
    ("gain_within", {"along": "heap", "value": "aged", "than": "fresh", "low": 0.80, "high": 0.81}),
    (
        "gain_within",
        {"along": "heap", "value": ["aged"], "than": "fresh", "strategy": ["AS3", "AS7"], "high": 0.76},
    ),
]
FAILS = [
    ("better_than", {"strategy": "AS7"}),
    ("mean_within", {"strategy": ["AS2", "AS4"], "than": ["AS1", "AS3"], "low": 0.95}),
    ("gain_within", {"along": "heap", "value": "aged", "than": "fresh", "strategy": "AS2", "high": 0.9}),
]


def outcome(study: Study, test: str, arguments: dict) -> claims.ClaimOutcome:
    expectation = spec.Expectation(says="It is so.", test=test, arguments=arguments)
    expecting = experiment(expectations=[expectation])
    claims.check(expecting)
    judged = Study(expecting, WORKLOAD, "quick", ["glibc"], study.runs, under="glibc")
    return claims.evaluate_study(judged)[0]


@pytest.mark.parametrize(
    ("expected", "test", "arguments"),
    [(ClaimResult.HOLDS, *case) for case in HOLDS] + [(ClaimResult.FAILS, *case) for case in FAILS],
)
def test_a_sentence_about_compared_values_is_judged_by_the_planted_truth(
    study: Study, expected: ClaimResult, test: str, arguments: dict
) -> None:
    found = outcome(study, test, arguments)
    assert found.result is expected, found.figures


@pytest.mark.parametrize(
    ("test", "arguments", "complaint"),
    [
        ("better_than", {"allocator": "glibc"}, "needs the argument 'strategy'"),
        ("better_than", {"strategy": "AS3", "allocator": "glibc"}, "'allocator' is neither"),
        ("flat_with", {"along": "strategy"}, "'strategy' is not a swept parameter"),
        ("mean_within", {"strategy": ["AS3", "AS4"], "than": ["AS1"]}, "a list as long as 'strategy'"),
        ("value_within", {"along": "heap", "value": "x", "than": ["a"]}, "'than' is one name"),
    ],
)
def test_an_expectation_about_something_else_is_refused(
    study: Study, test: str, arguments: dict, complaint: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(complaint)):
        outcome(study, test, arguments)


@pytest.mark.parametrize(
    ("here", "first", "turned"),
    [
        (Verdict.LOWER, Verdict.HIGHER, True),
        (Verdict.SAME, Verdict.LOWER, True),
        (Verdict.LOWER, Verdict.LOWER, False),
        (Verdict.LOWER, Verdict.UNDECIDED, False),
        (Verdict.UNDECIDED, Verdict.LOWER, False),
    ],
)
def test_a_verdict_is_turned_by_a_decided_one_only(here: Verdict, first: Verdict, turned: bool) -> None:
    judged = [Judged(Interval(1), verdict) for verdict in (here, first)]
    assert interaction.changes(*judged) is turned
    assert not interaction.changes(judged[0], None)


def test_what_is_compared_must_be_swept_at_both_scales() -> None:
    for changes in (
        {"compare": spec.ComparedParameter(along="strategy", reference="AS99")},
        {"compare": spec.ComparedParameter(along="colour", reference="AS1")},
        {"presets": {"heap": {"fresh": {}}}},
    ):
        with pytest.raises(ValueError, match="swept"):
            experiment(**changes)


def test_a_heat_table_of_times_has_a_panel_for_the_rest_and_colours_of_its_own(study: Study) -> None:
    tables = heat_map.heat_maps(study, study.experiment.plots[0])
    assert [table.caption for table in tables] == [
        f"structure {s}, heap {h}, allocation time in s" for s in ("DS1", "DS2") for h in ("fresh", "aged")
    ]
    first = tables[0]
    assert first.columns == [*STRATEGIES, "D", "V", "L", "U", "C"]
    assert first.groups[:2] == [("global", 2), ("monotonic", 2)]
    assert first.manners[:4] == ["", "virtual", "", "wink"]
    assert texts(first)["1"][5:] == ["0.25"] * 5
    colors = {entry.text: entry.color for _, entries in first.rows for entry in entries[:5]}
    ends = {value: colors[value] for value in (min(colors, key=float), max(colors, key=float))}
    assert sorted(ends.values(), reverse=True) == ["#fafcff", "#60a0d4"]
    assert len(set(colors.values())) == len(colors) > 5


def test_colours_are_white_where_nothing_differs_and_full_at_a_factor_of_four() -> None:
    blue, orange = "#70addb", "#f59e58"

    def shade(ratio: float) -> str:
        return table_parts.diverging(Interval(ratio, 0.01, 99.0))

    assert list(map(shade, (0, 0.01, 0.25, 1, 4, 99))) == [*[blue] * 3, "#ffffff", *[orange] * 2]
    assert [shade(ratio) for ratio in (0.5, 2)] == ["#b8d6ed", "#faceac"]  # halfway
    assert table_parts.diverging(Interval(0.01)) == "", "what has no interval may be noise"
    assert [table_parts.sequential(share) for share in (-1, 0, 1, 2)] == ["#fafcff"] * 2 + ["#60a0d4"] * 2


def test_short_times_are_shown_in_the_unit_that_is_named(tmp_path: Path) -> None:
    quick = synthetic.analysis_of(records_of(experiment(), ["glibc"], unit=0.001), tmp_path).studies[0]
    table = heat_map.heat_maps(quick, experiment().plots[0])[0]
    assert table.caption.endswith("allocation time in ms")
    assert float(texts(table)["1"][0]) == pytest.approx(0.12, rel=0.01)


def test_a_heat_table_of_percentages_has_the_reference_at_100_and_intervals(study: Study) -> None:
    table = heat_map.heat_maps(study, study.experiment.plots[1])[0]
    assert texts(table)["1"][0] == "100 %"
    assert texts(table)["1"][2] == "50 %"
    entry = table.rows[0][1][2]
    low, high = map(float, entry.small.split("–"))
    assert 49 < low <= 50 <= high < 51


def test_ratios_of_ratios_are_the_planted_ones(study: Study) -> None:
    tables = heat_map.heat_maps(study, study.experiment.plots[2])
    assert len(tables) == 2
    assert "heap aged" in tables[0].caption
    found = [float(text) for text in texts(tables[0])["4"][:5]]
    assert found == pytest.approx([1, 1, 0.75, 0.75, 0.75], rel=0.02)


def test_a_surface_divides_each_cell_by_the_one_it_is_against(study: Study) -> None:
    tables = heat_map.heat_maps(study, study.experiment.plots[3])
    assert len(tables) == len(STRATEGIES)
    assert "AS3 (monotonic)" in tables[2].caption
    assert [float(text) for text in texts(tables[2])["DS1"][:2]] == pytest.approx([1.5, 1.5], rel=0.02)
    assert texts(tables[2])["DS1"][2] == "0.25–1"  # the columns differ in their dimensions


def heat_of(study: Study, **axes: object) -> list[Table]:
    return heat_map.heat_maps(study, spec.Plot(kind="heat", y="allocation_time", **axes))


def test_what_cells_are_divided_by_is_not_shown(study: Study) -> None:
    across = heat_of(study, x="heap", rows="elements", against={"heap": "fresh"})
    assert {tuple(table.columns[:-5]) for table in across} == {("aged",)}
    panels = heat_of(study, x="elements", rows="structure", relative_to="AS1")
    assert len(panels) == 2 * (len(STRATEGIES) - 1)
    assert not any("AS1 (" in table.caption for table in panels)


def test_percentages_may_be_of_a_value_across(study: Study) -> None:
    table = heat_of(study, x="elements", rows="structure", relative_to="1")[0]
    assert texts(table)["DS1"][:2] == ["100 %", "400 %"]


def test_strategies_down_the_side_have_no_dimensions(study: Study) -> None:
    assert heat_of(study, x="elements", rows="strategy")[0].columns == ["1", "4"]


def test_summaries_are_means_with_intervals(study: Study) -> None:
    (table,) = summary.summary(study, study.experiment.plots[4])
    assert table.columns == ["AS2", "AS3", "AS4", "AS7"]
    aged = [TIMES[name] * (AGED[name] / 2) ** 0.5 for name in table.columns]
    total = texts(table)[summary.TOTAL]
    assert [float(text.split()[0]) / 100 for text in total] == pytest.approx(aged, rel=0.02)
    assert list(texts(table)) == ["DS1", "DS2", summary.TOTAL, summary.ARITHMETIC]
    arithmetic = [TIMES[name] * (1 + AGED[name] / 2) / 2 for name in table.columns]
    printed = texts(table)[summary.ARITHMETIC]
    assert [float(text.split()[0]) / 100 for text in printed] == pytest.approx(arithmetic, rel=0.02)
    (table,) = summary.summary(study, study.experiment.plots[5])
    total = texts(table)[summary.TOTAL]
    assert [float(text) for text in total] == pytest.approx([1, 0.75, 0.75, 0.75], rel=0.02)
    assert all(re.fullmatch(r"[\d.]+–[\d.]+", entry.small) for entry in table.rows[0][1])
    fresh = spec.Plot(kind="summary", y="allocation_time", only={"heap": ["fresh"]})
    (table,) = summary.summary(study, fresh)
    assert [entry.tone for entry in table.rows[0][1]] == ["bad", "good", "good", "bad"]


def test_a_summary_is_made_of_the_values_it_names(study: Study) -> None:
    plot = spec.Plot(kind="summary", y="allocation_time", rows="heap", only={"heap": ["aged"]})
    (table,) = summary.summary(study, plot)
    assert list(texts(table)) == ["aged", summary.TOTAL]
    aged = [TIMES[name] * AGED[name] / 2 for name in table.columns]
    total = texts(table)[summary.TOTAL]
    assert [float(text.split()[0]) / 100 for text in total] == pytest.approx(aged, rel=0.02)


def test_a_summary_keeps_the_row_of_a_value_that_is_called_all(tmp_path: Path) -> None:
    scale = spec.Scale(
        sweep={"structure": ["DS1", "all"], "elements": [1], "heap": ["fresh"], "strategy": ["AS1", "AS3"]}
    )
    scaled = experiment().model_copy(update={"quick": scale, "full": scale})
    (study,) = synthetic.analysis_of(records_of(scaled, ["glibc"]), tmp_path).studies
    (table,) = summary.summary(study, scaled.plots[4])
    assert list(texts(table)) == ["DS1", "all", summary.TOTAL, summary.ARITHMETIC]


def test_the_choice_names_the_planted_best_in_every_situation(analysis: Analysis) -> None:
    (found,) = choice.choices(analysis)
    assert found.what == "local allocator"
    best = [entries[0].text for _, entries in found.answers.rows]
    assert best == ["AS4 (monotonic, wink)"] * 2
    assert [entry.text for entry in found.answers.rows[0][1][1:5]] == ["–", "0.35×", "2.00×", "1.10×"]
    assert found.answers.rows[0][1][4].small in ("AS2", "AS7")
    assert len(found.experiments) == 1
    assert found.experiments[0].startswith(
        "Structures that grow: AS4 (monotonic, wink) takes 0.35× the time of AS1 (0.3"
    )
    assert found.sentences[0] == "In 2 of 2 situations something is faster than AS1 (global)."
    assert "Access through an abstract base, all else equal: 10 % more time" in " ".join(found.sentences)
    assert "Winking out, all else equal: 20 % less time" in " ".join(found.sentences)
    families = dict(found.families.rows)
    assert [entry.text for entry in families["monotonic"][:2]] == ["2 of 2", "0 of 2"]
    assert [entry.text for entry in families["multipool"][:2]] == ["0 of 2", "2 of 2"]
    assert [families[name][-1].text for name in ("monotonic", "multipool")] == ["2.00×", "1.00×"]


def test_the_choice_tells_what_a_mutex_costs_and_the_family_that_has_it(tmp_path: Path) -> None:
    sweep = {"elements": [1], "heap": ["fresh"], "strategy": ["AS1", "AS7", "AS7-synchronized"]}
    scale = spec.Scale(sweep=sweep)
    scaled = experiment().model_copy(update={"plots": [], "quick": scale, "full": scale})
    (found,) = choice.choices(synthetic.analysis_of(records_of(scaled, ["glibc"]), tmp_path))
    assert "A mutex, all else equal: 20 % more time" in " ".join(found.sentences)
    assert list(dict(found.families.rows)) == ["multipool", "synchronized multipool"]


def test_the_choice_tells_the_largest_gain_and_the_ends_of_a_family(study: Study) -> None:
    answers = [
        situations.answer_of(
            situations.Situation(study, heap, [c for c in study.cells if dict(c)["heap"] == heap])
        )
        for heap in ("fresh", "aged")
    ]
    assert choice.sentences(answers)[1].startswith(
        "The most is gained by AS4 (monotonic, wink) in aged: 3.33× as fast ("
    )
    multipool = dict(situation_tables.family_table(situations.families(answers)).rows)["multipool"]
    assert [(entry.text, entry.small) for entry in multipool[3:5]] == [("0.94×", "aged"), ("1.25×", "fresh")]


def test_the_choice_shows_every_situation_and_says_what_to_do_next(analysis: Analysis) -> None:
    (found,) = choice.choices(analysis)
    picture = situation_figure.figure(found.kinds, found.reference)
    assert all(f">{name}</text>" in picture.svg for name in ("monotonic", "multipool", "global"))
    assert [step.says.split(":")[0] for step in found.steps][:1] == ["Use one"]


def test_with_too_few_blocks_nothing_is_chosen_and_that_is_said(study: Study) -> None:
    estimate = Interval(0.5)
    where = situations.Situation(study, "all", study.cells)
    open_ = situations.StrategyAnswer(
        where, "AS4", [], Judged(estimate, Verdict.UNDECIDED), estimate, ("AS7", estimate)
    )
    assert choice.sentences([open_]) == [
        "Undecided: too few blocks were measured to choose. What is shown are estimates alone."
    ]
    decided = situations.answer_of(where)
    assert (
        choice.sentences([open_, decided])[0] == "In 1 of 1 situations something is faster than AS1 (global)."
    )
    assert choice.sentences([open_, decided])[-1].startswith("Undecided: 1 more")


def test_an_undecided_gain_is_no_reason_to_change(study: Study) -> None:
    where = situations.Situation(study, "all", study.cells)
    for verdict, keeps in ((Verdict.UNDECIDED, True), (Verdict.LOWER, False)):
        time, memory = Judged(Interval(0.97, 0.90, 1.04), verdict), Interval(1, 1, 1)
        answer = situations.StrategyAnswer(where, "AS4", [], time, memory, ("AS7", memory))
        assert answer.keeps_reference is keeps


def test_crossed_with_allocators_the_verdicts_that_turn_are_named(crossed: Analysis) -> None:
    assert [study.name for study in crossed.studies] == [
        "p0213/growth under glibc",
        "p0213/growth under quick",
    ]
    (found,) = interaction.interactions(crossed)
    assert found.sentence == (
        "The allocator underneath turns 2 of 4 verdicts: AS3 under quick and AS4 under quick."
    )
    rows = texts(found.table)
    assert rows["AS1 itself, to that of glibc"] == ["1", "0.30×"]
    assert rows["AS3 (monotonic)"][1].endswith("≠")
    (glibc, quick) = choice.choices(crossed)
    assert "Stay with AS1" in " ".join(quick.sentences)
    assert "Stay with AS1" not in " ".join(glibc.sentences)
    (between,) = crossed.summarised("synthetic")
    assert (between.name, between.candidates) == ("p0213/growth with AS1", ["glibc", "quick"])
    assert len(between.cells) == 8


@pytest.mark.slow
def test_the_page_shows_all_of_it_without_scripts(
    crossed: Analysis, analysis: Analysis, tmp_path: Path
) -> None:
    for each in (crossed, analysis):
        page = tmp_path / "report.html"
        report_page.write_html([each], page)
        text = page.read_text()
        assert "<script" not in text
        assert "Which local allocator when" in text
        for table in ("Table 4", "Table 8", "Table 19", "Table 20"):
            assert table in text
        ids = re.findall(r'<section id="([^"]+)"', text)
        assert len(ids) == len(set(ids))
        assert set(re.findall(r'<a href="#([^"]+)"', text)) <= set(ids)
    assert "Does the allocator underneath change the verdict?" not in text


def test_a_failed_field_says_so_and_why_and_the_others_stay(tmp_path: Path) -> None:
    records = synthetic.with_runs(
        records_of(experiment(), ["glibc"]),
        lambda run: (run.cell["strategy"], run.cell["elements"]) == ("AS7", 4),
        **synthetic.no_figure(Status.FAILED, "no arena here"),
    )
    broken = synthetic.analysis_of(records, tmp_path)
    table = heat_map.heat_maps(broken.studies[0], experiment().plots[0])[0]
    failed = [entry.title for _, entries in table.rows for entry in entries if entry.text == "failed"]
    assert failed == ["no arena here"]
    assert table.notes == ["failed at 4 AS7: no arena here"]
    (means,) = summary.summary(broken.studies[0], spec.Plot(kind="summary", y="allocation_time"))
    assert means.rows[0][1][-1].text != "–", "the mean of the cells that have a figure"
    report_page.write_html([broken], tmp_path / "report.html")
    assert "failed at 4 AS7: no arena here" in (tmp_path / "report.html").read_text()


def compared(lab: Laboratory, *words: object) -> tuple[int, str]:
    return lab.heaplab("compare", "--experiment", "compared/one", *WARM, "-o", lab.out, *words)


def test_without_allocators_it_runs_under_the_baseline_with_a_control_of_the_reference_only(
    lab: Laboratory,
) -> None:
    printed = success(compared(lab, "--no-slices"))
    results = lab.results()
    assert results.campaign.allocators == ["glibc"]
    ran = Counter((run.cell["mode"], run.allocator) for run in results.runs if run.status is Status.OK)
    assert ran == {("once", "glibc"): 10, ("twice", "glibc"): 10, ("once", "glibc#again"): 10}
    (study,) = Analysis(results).studies
    assert study.ratio(study.cells[0], "twice", "time").estimate == pytest.approx(2)
    assert "Which mode when, under glibc" in printed


def test_crossed_it_runs_every_value_under_every_allocator(lab: Laboratory) -> None:
    printed = success(compared(lab, *lab.own, "--json"))
    found = {item["under"]: item["mode"]["twice"] for item in json.loads(printed)["comparisons"]}
    assert found.keys() == {"glibc", "same", "slow"}
    assert all(item["ratio"] == pytest.approx(2) for item in found.values())
    assert {item["verdict"] for item in found.values()} == {"slower"}


def test_an_interrupted_comparison_of_values_is_resumed_where_it_stopped(lab: Laboratory) -> None:
    compared(lab)
    whole = lab.results().runs
    cut_off(lab.out / store.FILE_NAME, -8)
    success(lab.heaplab("compare", "--resume", lab.out, "-q"))
    places = [
        {(r.cell["size"], r.cell["mode"], r.allocator, r.block) for r in runs if r.status is Status.OK}
        for runs in (whole, lab.results().runs)
    ]
    assert places[0] == places[1]
