"""The page and the summary on results whose answer is known, and on results with nothing in them."""

import io
import json
import re
import shlex
from html.parser import HTMLParser
from math import inf, nan

import pytest
import synthetic
from rich.console import Console

from heaplab.analysis import Judged, Power
from heaplab.report.machine_readable import json_summary
from heaplab.report.page import report_page
from heaplab.report.page.hosts import Advised, agreement
from heaplab.report.terminal import summary_text
from heaplab.report.words import wording
from heaplab.report.words.advice import Answer, answer
from heaplab.report.words.next_steps import next_steps
from heaplab.results import spec
from heaplab.results.records import End, Status, Timing
from heaplab.stats import Interval, Verdict
from heaplab.text import units


def summary_of(analysis):
    console = Console(width=200, record=True, file=io.StringIO())
    summary_text.print_summary(analysis, console)
    return console.export_text()


@pytest.fixture(scope="module")
def analysis(tmp_path_factory):
    return synthetic.analysis_of(synthetic.campaign(faults=True), tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def page(analysis):
    path = analysis.results.path.parent / "report.html"
    report_page.write_html([analysis], path)
    return path


class Structure(HTMLParser):
    """Open and closed elements, links, and ids."""

    VOID = frozenset({"meta", "br", "link", "img", "input"})

    def __init__(self):
        super().__init__()
        self.open, self.links, self.ids, self.names, self.unnamed_svg = [], [], [], set(), 0

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.names.add(tag)
        self.links += [values[name] for name in ("src", "href", "xlink:href", "action") if name in values]
        self.ids += [values["id"]] if "id" in values and tag == "section" else []
        if tag == "svg":
            self.unnamed_svg += not values.get("aria-label")
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def structure(path):
    parser = Structure()
    parser.feed(path.read_text())
    assert parser.open == []
    return parser


def test_the_page_is_one_well_formed_file_without_scripts_or_network(page):
    found = structure(page)
    assert not found.names & {"script", "link", "img", "iframe", "object"}
    assert all(link.startswith("#") or link == "results.jsonl" for link in found.links)
    assert "@import" not in page.read_text()
    assert not re.search(r"url\((?!#)", page.read_text())
    assert found.unnamed_svg == 0
    assert len(found.ids) == len(set(found.ids))
    assert {link[1:] for link in found.links if link.startswith("#") and "-" in link} <= set(link_ids(page))


def link_ids(page):
    return re.findall(r'id="([^"]+)"', page.read_text())


def test_the_answer_comes_first_and_is_the_planted_one(page):
    text = re.sub(r"<[^>]+>", " ", page.read_text().split("</style>", 1)[1])
    answer = text[: text.index("How to read this page")]
    assert "Use scalloc: 51 % less time and 8 % more peak memory, compared with glibc." in answer
    assert re.search(r"Fastest\s+mimalloc and scalloc\s", answer)
    assert re.search(r"Leanest\s+glibc\s", answer)
    assert re.search(r"Best trade-off\s+scalloc\s", answer)
    assert answer.index("How sure") < answer.index("Next") < answer.index("Time against memory")
    assert "Not ranked" in answer
    assert answer.index("Real programs") < answer.index("Synthetic workloads")


def test_the_notes_of_an_experiment_stand_with_its_claim(page):
    section = page.read_text().partition("<h2>Larson: throughput with hand-over between threads")[2]
    assert "The quick scale &lt;of minutes&gt; asks for fewer objects." in section.partition("<svg")[0]


def test_everything_that_went_wrong_is_told(page):
    text = page.read_text()
    for reason in ("SIGSEGV", "not done after 120 s", "others used 0.9 s of CPU time"):
        assert reason in text
    assert "9.00 s" in text  # the planted outlier, flagged


def test_an_allocator_that_fails_in_a_cell_is_not_ranked(analysis):
    summary = {s.allocator: s for s in analysis.summaries("program")}
    assert not summary["tbbmalloc"].complete
    assert (summary["tbbmalloc"].cells, summary["tbbmalloc"].cells_of) == (1, 2)
    assert summary["mimalloc"].complete


def test_the_planted_outlier_turns_no_verdict_and_touches_only_its_own(analysis, tmp_path):
    study = analysis.studies[0]
    without = synthetic.analysis_of(synthetic.campaign(), tmp_path).studies[0]
    verdicts = {key: judged.verdict for key, judged in study.judged("allocation_time").items()}
    usual = {key: judged.verdict for key, judged in without.judged("allocation_time").items()}
    differing = {key for key, verdict in verdicts.items() if verdict is not usual[key]}
    assert differing <= {((("threads", 1),), "jemalloc")}
    assert {verdicts[key] for key in differing} <= {Verdict.UNDECIDED}
    assert [(a, b) for _, a, b, _, _ in study.outliers("allocation_time")] == [("jemalloc", 4)]


def test_the_baseline_against_itself_under_another_name_is_no_difference(tmp_path):
    records = synthetic.campaign(["glibc", "same"], effect=lambda _, cell: synthetic.truth("glibc", cell))
    equal = synthetic.analysis_of(records, tmp_path)
    (summary,) = equal.summaries("synthetic")
    assert summary.time.verdict == summary.memory.verdict == "same"
    assert "Stay with glibc: nothing here is better" in summary_of(equal)


def test_the_summary_on_a_terminal_says_the_same(analysis):
    text = summary_of(analysis)
    assert "Use scalloc: 51 % less time" in text
    assert "mimalloc and scalloc: not told apart at 3 %" in text
    assert "11 of 1961 runs gave no figure" in text
    assert "Runs: 1949 ok (1 of them disturbed by others), 1 void (1 of them repeated), 10 failed, 1 " in text
    assert "mimalloc, programs/sqlite" not in text


def test_the_plain_form_is_json_without_infinities(analysis):
    content = json.loads(json.dumps(json_summary.as_plain(analysis), allow_nan=False))
    assert content["summaries"]["synthetic"]["allocators"]["scalloc"]["time"]["verdict"] == "faster"
    assert content["runs"] == {"ok": 1949, "failed": 10, "timeout": 1, "void": 1}


def test_the_summary_fits_eighty_columns_and_cuts_no_name(analysis):
    console = Console(width=80, file=io.StringIO())
    summary_text.print_summary(analysis, console)
    lines = console.file.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert {line.split()[0] for line in lines if line} >= set(synthetic.ALLOCATORS)
    assert not any("…" in line or line.endswith(" ") for line in lines)
    assert any(line.startswith("allocator") and "faults" in line and "system" in line for line in lines)


def test_rates_count_as_time_in_the_summary(analysis):
    larson = analysis.studies[1]
    cell = larson.cells[0]
    assert larson.ratio(cell, "mimalloc", "throughput").estimate > 1.5
    assert larson.judged("throughput")[cell, "mimalloc"].verdict == "higher"


def test_cells_with_more_threads_than_processors_are_marked(page, analysis):
    text = page.read_text()
    assert "threads 4 (over 2 CPUs)" in text
    assert "threads 2 (over" not in text
    assert text.count("than the 2 CPUs</text>") >= 2  # in both curves
    assert "Some cells have more threads than the 2 CPUs" in text
    curve = analysis.studies[0]
    assert [curve.oversubscribed(cell) for cell in curve.cells] == [False, False, True, True]


def test_sampled_latencies_get_a_figure_with_an_axis_of_nines(page):
    text = page.read_text()
    assert "Latency of allocation" in text
    assert "Latency of free" in text
    assert re.search(r">99\.9 %</text>", text)
    assert "99.9th percentile" in text


@pytest.mark.slow
def test_campaigns_stand_beside_each_other_and_are_never_pooled(tmp_path):
    def one(name, time):
        effects = {"quick": (time, 1.1)}
        records = synthetic.campaign(["glibc", "quick"], synthetic.experiments()[3:4], effect=effects)
        return synthetic.analysis_of(records, tmp_path / name)

    report_page.write_html([one("a", 0.5), one("b", 2.0)], tmp_path / "report.html")
    found = structure(tmp_path / "report.html")
    assert len(link_ids(tmp_path / "report.html")) >= len(found.ids) == len(set(found.ids))
    assert {"hosts", "campaign-1-program", "campaign-2-program"} <= set(found.ids)
    beside = (tmp_path / "report.html").read_text().split('id="hosts"')[1].split("</section>")[0]
    assert "The campaigns differ: quick in campaign 1 and glibc in campaign 2." in beside
    assert "Use quick: 47 % less time" in beside
    assert "Stay with glibc" in beside
    table = beside.split("<table>", 1)[1]
    (first, second), memory = re.findall(r"<td[^>]*>([\d.]+)", table)[:2], re.findall(r">(1\.10)×", table)
    assert float(first) == pytest.approx(0.52, abs=0.02)
    assert float(second) == pytest.approx(1.95, abs=0.05)
    assert len(memory) == 2


def advised(number, use, undecided=()):
    return Advised(number, "a machine", Answer("program", "", [], [], use, list(undecided)))


@pytest.mark.parametrize(
    ("advice", "said"),
    [
        ([["a", "b"], ["b"]], "All campaigns agree on b."),
        (
            [["a"], ["b"]],
            "The campaigns differ: a in campaign 1 and b in campaign 2. Take the advice of the ",
        ),
        (
            [["a"], []],
            "Campaign 2 names no single allocator. Take the advice of the machine that the program",
        ),
        ([["a"]], "Measured in campaign 1 only."),
    ],
)
def test_whether_campaigns_agree_is_said(advice, said):
    assert agreement([advised(number, use) for number, use in enumerate(advice, 1)]).startswith(said)


def test_an_agreement_that_rests_on_undecided_figures_says_so():
    found = agreement([advised(1, ["a"]), advised(2, ["a"], ["b"])])
    assert found == "All campaigns agree on a. Not all is decided in campaign 2."


def test_what_decides_is_what_verdicts_rest_on(tmp_path):
    """The clock of a timing decides only in place of the wall time."""
    which = [synthetic.experiments()[number] for number in (0, 3)]
    *records, end = synthetic.campaign(["glibc", "quick"], which, blocks=3)
    how = {"slices": False, "clock": "cpu_time", "why_alone": "it waits", "why_clock": "it computes"}
    records += [Timing(experiment=experiment.id, **how) for experiment in which]
    analysis = synthetic.analysis_of([*records, end], tmp_path)
    assert [study.main_metric for study in analysis.studies] == ["allocation_time", "cpu_time"]
    assert wording.how_timed(analysis.studies) == [
        "acdc-ismm13/fig07: one arm ran after the other, because it waits; allocation time decides.",
        "programs/sqlite: one arm ran after the other, because it waits; CPU time decides: it computes.",
    ]
    assert wording.continued("CPU time of the work") == "CPU time of the work"
    assert wording.continued("Access time") == "access time"


# ---------------------------------------------------------------- what to do next


def steps_of(path, effects, own, end="precise", command=(), blocks=8):
    names, which = ["glibc", *effects], synthetic.experiments()[3:4]
    records = synthetic.campaign(names, which, blocks=blocks, noise=0.003, drift=0.0, effect=effects)
    if own:
        records = synthetic.as_own(records, program="./my server", arguments=["-x"])
    head = records[0].model_copy(update={"command": list(command)})
    analysis = synthetic.analysis_of([head, *records[1:-1], End(reason=end)], path)
    steps = next_steps(analysis, "program", answer(analysis, "program", analysis.summaries("program")))
    return [(step.says, step.command.replace(str(path), "DIR")) for step in steps]


def test_the_next_step_is_a_command_to_type(tmp_path):
    ask = ("Ask about your own program:", "heaplab compare -- PROGRAM ARGS")
    assert steps_of(tmp_path, {"swift": (0.5, 0.8)}, own=False) == [ask]
    start = ("Start the program under swift:", "heaplab with swift -- './my server' -x")
    assert steps_of(tmp_path, {"swift": (0.5, 0.8)}, own=True) == [start]
    stay = ("Nothing: the program may stay with glibc.", "")
    assert steps_of(tmp_path, {"slow": (1.5, 1.2)}, own=True) == [stay]


def test_a_library_of_the_users_own_is_named_again_in_the_next_step(tmp_path):
    command = ["heaplab", "compare", "--allocator", "swift=./lib.so"]
    ((_, typed),) = steps_of(tmp_path, {"swift": (0.5, 0.8)}, own=True, command=command)
    assert typed == "heaplab with --allocator swift=./lib.so swift -- './my server' -x"


def test_what_is_undecided_may_be_measured_longer_if_time_ran_out(tmp_path):
    longer = ("To decide about swift, measure longer:", "heaplab compare --resume DIR --budget 10m")
    assert longer in steps_of(tmp_path, {"swift": (0.9, 1.0)}, own=True, end="budget", blocks=2)
    assert longer not in steps_of(tmp_path, {"swift": (0.9, 1.0)}, own=True, end="blocks", blocks=2)
    night = ["heaplab", "--catalog", "mine", "atlas", "--nightly"]
    assert longer in steps_of(
        tmp_path, {"swift": (0.9, 1.0)}, own=True, end="budget", command=night, blocks=2
    ), "atlas has no --resume, and compare goes on with its campaigns"


@pytest.mark.parametrize(
    ("given", "typed"),
    [
        (["--", "./x", "9", "--precision"], ["--", "./x", "9", "--precision"]),
        (["--precision", "5%", "-q", "--", "./x"], ["-q", "--", "./x"]),
        (["-q", "--precision=5%"], ["-q"]),
    ],
)
def test_what_is_precise_but_undecided_may_be_measured_more_precisely(tmp_path, given, typed):
    undecided = {"effects": {"swift": (0.9, 1.0)}, "own": True, "blocks": 2}
    steps = steps_of(tmp_path, **undecided, command=["heaplab", "compare", *given])
    says = "To decide about swift, measure to 1% instead of 2%:"
    assert (says, shlex.join(["heaplab", "compare", "--precision", "1%", *typed])) in steps
    gated = steps_of(tmp_path, **undecided, command=["heaplab", "gate", *given])
    assert not [step for step in gated if "decide" in step[0]]


NEVER = "A day more on this machine would not decide about swift, by the forecast of:"


@pytest.mark.parametrize(
    ("seconds", "said", "typed"),
    [
        (nan, "To decide about swift, measure longer:", "--resume DIR --budget 10m"),
        (599.0, "To decide about swift, measure longer:", "--resume DIR --budget 10m"),
        (
            9000.0,
            "To decide about swift, measure longer, by the forecast about 3 hours:",
            "--resume DIR --budget 3h",
        ),
        (
            1e5,
            "A day more on this machine would not decide about swift, by the forecast of:",
            "heaplab report DIR --form power",
        ),
        (
            inf,
            "A day more on this machine would not decide about swift, by the forecast of:",
            "heaplab report DIR --form power",
        ),
    ],
)
def test_to_measure_longer_is_said_with_the_forecast_of_power(monkeypatch, tmp_path, seconds, said, typed):
    monkeypatch.setattr(Power, "seconds_left", seconds)
    steps = steps_of(tmp_path, {"swift": (0.9, 1.0)}, own=True, end="budget", blocks=2)
    ((found, command),) = [step for step in steps if "decide" in step[0]]
    assert found == said
    assert command.endswith(typed)


def test_the_counts_of_runs_add_up_to_all_runs(analysis):
    *parts, every = map(int, re.findall(r"(?<!\()\b\d+", wording.run_counts(analysis)))
    assert every == len(analysis.results.runs) == sum(parts)


# ---------------------------------------------------------------- results with little in them


@pytest.fixture(scope="module")
def small_campaign():
    return synthetic.campaign(["glibc", "jemalloc", "mimalloc"], blocks=3, faults=True)


@pytest.mark.slow
def test_arms_that_a_command_names_itself_are_repeated_by_that_command(tmp_path):
    own = ["heaplab", "compare", "--allocator", "mine=./libmine.so"]
    head, *rest = synthetic.campaign(which=synthetic.experiments()[:1])
    given = synthetic.analysis_of([head.model_copy(update={"command": own}), *rest], tmp_path)
    part = report_page.part(given, tmp_path / "report.html")
    assert {section.command for section in part["sections"]} == {" ".join(own)}


@pytest.mark.parametrize(
    "kept",
    [
        pytest.param(lambda run: False, id="no runs"),
        pytest.param(lambda run: run.allocator == "glibc", id="baseline only", marks=pytest.mark.long),
        pytest.param(lambda run: run.block == 0, id="one block"),
        pytest.param(lambda run: "#" not in run.allocator, id="no control", marks=pytest.mark.long),
        pytest.param(
            lambda run: run.experiment.startswith("p0"), id="one experiment", marks=pytest.mark.long
        ),
        pytest.param(lambda run: run.order % 3, id="holes everywhere", marks=pytest.mark.long),
    ],
)
def test_a_poor_campaign_gets_an_honest_page(kept, small_campaign, tmp_path):
    assert_honest(synthetic.only(small_campaign, kept), tmp_path)


def test_a_campaign_line_alone_gets_an_honest_page(small_campaign, tmp_path):
    assert_honest(small_campaign[:1], tmp_path)


def test_failures_alone_get_an_honest_page(small_campaign, tmp_path):
    failed = synthetic.no_figure(Status.FAILED, "exit status 1")
    assert_honest(synthetic.with_runs(small_campaign, lambda _: True, **failed), tmp_path)


def assert_honest(records, tmp_path):
    poor = synthetic.analysis_of(records, tmp_path)
    report_page.write_html([poor], tmp_path / "report.html")
    structure(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert "nan" not in re.sub(r"<[^>]+>", " ", text).split()
    assert summary_of(poor)
    json.dumps(json_summary.as_plain(poor), allow_nan=False)


def test_markup_in_names_stays_text(tmp_path):
    records = synthetic.campaign(blocks=5, which=synthetic.experiments()[3:4])
    markup = {"status": Status.FAILED, "reason": "<script>alert(1)</script>[bold]"}
    hostile = synthetic.analysis_of(
        synthetic.with_runs(records, lambda run: run.order == 12, **markup), tmp_path
    )
    report_page.write_html([hostile], tmp_path / "report.html")
    assert "<script" not in (tmp_path / "report.html").read_text()
    assert "[bold]" in summary_of(hostile)


def test_a_figure_is_captioned_with_the_name_its_publication_gives_it(tmp_path):
    plots = [
        spec.Plot(kind="bars", y="allocation_time", figure="Figure 6(a)"),
        spec.Plot(kind="heat", x="size", y="allocation_time", figure="Table 8"),
        spec.Plot(kind="series", series="memory", figure="Figure 6(b)"),
        spec.Plot(kind="scatter", x="allocation_time", y="peak_memory"),
    ]
    single = synthetic.experiment("one", "acdc", {"size": [1, 2]}, plots)
    analysis = synthetic.analysis_of(synthetic.campaign(["glibc", "jemalloc"], [single], blocks=5), tmp_path)
    html = report_page.render([analysis], tmp_path / "report.html")
    captions = re.findall(r"<(?:fig)?caption>([^<]*)<", html)
    assert {"Figure 6(a): Allocation time", "Figure 6(b): Memory over time"} <= set(captions)
    assert any(caption.startswith("Table 8: allocation time in ") for caption in captions)
    assert "Peak memory with page tables against allocation time" in captions


@pytest.mark.parametrize(
    ("unit", "better", "less", "more"),
    [
        ("s", "lower", "faster", "slower"),
        ("1/s", "higher", "slower", "faster"),
        ("B", "lower", "less memory", "more memory"),
        ("1", "lower", "lower", "higher"),
    ],
)
def test_a_verdict_is_said_in_the_words_of_its_metric(unit, better, less, more):
    metric = spec.MetricSpec(title="x", unit=unit, better=better)
    said = [
        wording.verdict(Judged(Interval(1), verdict), metric)
        for verdict in (Verdict.LOWER, Verdict.HIGHER, Verdict.SAME, Verdict.UNDECIDED)
    ]
    assert said == [less, more, "no difference larger than 3 %", "undecided"]


@pytest.mark.parametrize(
    ("ratio", "floor", "said"),
    [
        (Interval(0.63, 0.58, 0.92, 5), 0.0, "many compared"),
        (Interval(0.93, 0.90, 0.95, 5), 0.0712, "noise floor 7.2 % here"),
        (Interval(0.96, 0.94, 0.98, 5), 0.0, "may be below 3 %"),
        (Interval(0.96, 0.90, 1.04, 5), 0.0, "interval too wide"),
        (Interval(0.5, count=4), 0.0, "4 blocks, 5 are needed"),
        (Interval(0.5, count=1), 0.0, "1 block, 5 are needed"),
    ],
)
def test_undecided_says_why_at_the_place(ratio, floor, said):
    judged = Judged(ratio, Verdict.UNDECIDED, Interval(1, 1 / (1 + floor), 1 + floor, 20))
    assert wording.verdict_with_reason(judged, wording.TIME) == f"undecided: {said}"
    assert wording.ratio_with_reason(judged).endswith(f", {said}")
    assert json_summary.plain_judged(judged, wording.TIME)["why"] == said


@pytest.mark.parametrize("blocks", [1, 4, 5])
def test_fewer_than_five_blocks_give_no_verdict_and_say_so(blocks, tmp_path):
    last = synthetic.experiments()[3:4]
    records = synthetic.campaign(["glibc", "mimalloc"], last, blocks=blocks)
    analysis = synthetic.analysis_of(records, tmp_path)
    text = summary_of(analysis)
    said = f"{blocks} block{'s' if blocks > 1 else ''} in all: 5 are needed for a verdict."
    assert (said in text) == (said in report_page.render([analysis], tmp_path / "x.html")) == (blocks < 5)
    assert ("undecided" in text) is (blocks < 5)


def test_a_missing_figure_is_no_verdict():
    judged = Judged(Interval(nan, count=5), Verdict.UNDECIDED)
    assert wording.verdict_with_reason(judged, wording.TIME) == "no figure"
    assert wording.ratio(judged) == units.NOTHING
    found = json_summary.plain_judged(judged, wording.TIME)
    assert [found[name] for name in ("ratio", "low", "high", "verdict")] == [None] * 4
