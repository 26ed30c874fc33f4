"""The summary of a campaign on a terminal, in the order of the page: answer, how sure, what next, figures."""

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape

from heaplab.analysis import (
    FAULTS,
    INSTRUCTIONS,
    SYSTEM,
    Analysis,
    AspectSummary,
    Judged,
    Study,
    Summary,
    worst_cells,
)
from heaplab.analysis.claims import ClaimOutcome, ClaimResult
from heaplab.report.choices.choice import choices
from heaplab.report.tables.aspect_answer import (
    METRICS,
    AspectAnswer,
    aspect_answer,
    kinds_with_mean,
    legend,
    rests_on,
)
from heaplab.report.tables.effects_table import effects_table
from heaplab.report.tables.interaction import interactions
from heaplab.report.tables.server_table import server_rows
from heaplab.report.tables.table_parts import print_table
from heaplab.report.words import wording
from heaplab.report.words.advice import Answer, answer, ordered
from heaplab.report.words.causes import Cause, causes, sentences
from heaplab.report.words.next_steps import Step, next_steps
from heaplab.results import spec
from heaplab.results.records import Run
from heaplab.screen.console import GAP, Column, put, put_command, put_table
from heaplab.stats import LEVEL, Interval
from heaplab.text import units

TONES = {"good": "green", "bad": "red", "same": "default", "open": "yellow"}
RESULTS = {
    ClaimResult.HOLDS: "green",
    ClaimResult.FAILS: "red",
    ClaimResult.OPEN: "yellow",
    ClaimResult.UNTESTED: "dim",
}
ASPECT, ASPECT_FIGURE = 10, 9  # columns of an aspect's name, and of an interval
LABEL = 16  # columns of the labels beside an answer
# Ranks of columns: if a table has too little room, the column with the highest rank is dropped first.
VERDICT, CELLS, WORST = 1, 2, 6
CAUSES = {FAULTS: ("faults", 3), SYSTEM: ("system", 4), INSTRUCTIONS: ("instructions", 5)}


def print_summary(analysis: Analysis, console: Console) -> None:
    """Answer and table by aspect and for each kind of workload, then the runs without a figure."""
    if by_aspect := aspect_answer(analysis):
        _print_aspects(analysis, by_aspect, console)
    for kind in kinds_with_mean(analysis, by_aspect.summaries if by_aspect else []):
        if not analysis.only_within:
            console.print(f"\n[bold]{wording.KINDS[kind].capitalize()}[/]")
            _print_kind(analysis, kind, by_aspect, console)
    for choice in choices(analysis):
        console.print(f"\n[bold]Which {choice.what} when, under {escape(choice.under)}[/]")
        for sentence in (*choice.sentences, *choice.experiments):
            put(console, escape(sentence))
        _labelled(console, "How sure", [choice.sure])
        _print_steps(choice.steps, console)
        if choice.families:
            console.print()
            print_table(choice.families, console)
    for crossed in interactions(analysis):
        console.print()
        put(console, escape(f"{crossed.experiment}: {crossed.sentence}"))
    if not any(analysis.summarised(kind) for kind in wording.KINDS) and not analysis.comparisons:
        console.print("No run ended well: there is nothing to compare.")
    _labelled(console, "How timed", wording.how_timed(analysis.studies))
    _labelled(console, "Trimmed", wording.trimmed(analysis.results.runs))
    _print_faults(analysis, console)


def _print_aspects(analysis: Analysis, answered: AspectAnswer, console: Console) -> None:
    """Aspects down, as many allocators across as there is room for, then the others below."""
    console.print()
    put(console, f"[bold]{escape(answered.advice)}[/]")
    _labelled(console, "How sure", [answered.sure])
    _print_steps(answered.steps, console)
    names = [name for name in analysis.allocators if name != analysis.baseline]
    room = max(1, (console.width - ASPECT) // (max(ASPECT_FIGURE, *map(len, names)) + len(GAP)))
    for place in range(0, len(names), room):
        console.print()
        put_table(console, _aspect_columns(answered.summaries, names[place : place + room]))
    console.print()
    for summary in answered.summaries:
        about = f"{summary.about.question} ({rests_on(summary)})"
        put(console, escape(about), label=summary.about.id, indent=ASPECT)
    means = f"Geometric means, times {analysis.baseline}'s, with {LEVEL} intervals."
    put(console, escape(f"{means} {legend(answered.summaries)}"))


def _aspect_columns(summaries: list[AspectSummary], names: list[str]) -> list[Column]:
    """Two rows for each aspect: the ratios with their verdicts, then the intervals."""
    columns = [Column("aspect", [text for s in summaries for text in (s.about.id, "")])]
    for name in names:
        texts = []
        for summary in summaries:
            judged, metric = summary.judged[name], METRICS[summary.about.measure]
            tone = TONES[wording.tone(judged, metric)]
            texts.append(f"[{tone}]{_number(judged.ratio)} {wording.SYMBOLS[judged.verdict]}[/]")
            texts.append(units.bounds(judged.ratio) if judged.ratio.bounded else "")
        columns.append(Column(escape(name), texts))
    return columns


def _print_kind(analysis: Analysis, kind: str, before: AspectAnswer | None, console: Console) -> None:
    """The answer of a kind of workload, without the steps and the advice that stand `before`."""
    summaries = analysis.summaries(kind)
    answered, known = answer(analysis, kind, summaries), causes(analysis, kind)
    steps = [] if before else next_steps(analysis, kind, answered)
    if not before or before.of != kind:
        put(console, f"[bold]{escape(answered.advice)}[/]")
    _print_answer(analysis, answered, steps, sentences(analysis, kind, summaries), console)
    console.print()
    put_table(console, _columns(analysis, kind, ordered(summaries), known))
    caption = f"Times {analysis.baseline}'s, geometric means. Peak memory counts page tables."
    for line in (caption, *_undecided(summaries)):
        put(console, escape(line))
    for study in analysis.summarised(kind):
        _print_servers(study, console)
    if crossed := effects_table(analysis, kind):
        console.print()
        print_table(crossed, console)


def _print_answer(
    analysis: Analysis, answered: Answer, steps: list[Step], why: list[str], console: Console
) -> None:
    sure = f"{wording.extent(analysis.summarised(answered.kind))} {wording.noise(analysis, answered.kind)}"
    _labelled(console, "How sure", [sure])
    _labelled(console, "Mind", [*wording.notes_of_cards(analysis, answered.kind), *answered.notes])
    _print_steps(steps, console)
    for leader in answered.told_apart:
        _labelled(console, leader.title, [f"{leader.who}: {leader.text}"])
    _labelled(console, "Why", why)


def _print_steps(steps: list[Step], console: Console) -> None:
    for number, step in enumerate(steps):
        _labelled(console, "" if number else "Next", [step.says])
        if step.command:
            put_command(console, step.command, LABEL)


def _labelled(console: Console, label: str, texts: Sequence[str]) -> None:
    for number, text in enumerate(texts):
        put(console, escape(text), label="" if number else label, indent=LABEL)


def _columns(analysis: Analysis, kind: str, summaries: list[Summary], known: list[Cause]) -> list[Column]:
    """The columns of a kind's table; the first row is the baseline."""
    worst, names = worst_cells(analysis, kind), [s.allocator for s in summaries]
    everybody, several = (analysis.baseline, *names), max((s.cells_of for s in summaries), default=0)
    seen = "1" if analysis.shows_memory(kind) else units.NOTHING
    cells_run = [f"{s.cells}/{s.cells_of}" for s in summaries]
    largest_ratios = [
        f"{units.ratio(worst[name].ratio)} {escape(worst[name].experiment)}" if name in worst else ""
        for name in everybody
    ]
    return [
        Column(analysis.compared, [escape(analysis.baseline), *map(escape, names)]),
        _ratios("time", "1", [s.time for s in summaries]),
        _verdicts([s.time for s in summaries], wording.TIME, 0),
        _ratios("memory", seen, [s.memory for s in summaries]),
        _verdicts([s.memory for s in summaries], wording.MEMORY, VERDICT),
        *(_counts(cause, names) for cause in known),
        *([] if all(s.complete for s in summaries) else [Column("cells", ["", *cells_run], CELLS)]),
        *([Column("at worst", largest_ratios, WORST)] if several > 1 else []),
    ]


def _ratios(head: str, baseline: str, judged: list[Judged]) -> Column:
    """Ratios with their intervals, one below the other."""
    numbers = [baseline, *(_number(j.ratio) for j in judged)]
    bounds = ["", *(units.bounds(j.ratio) if j.ratio.bounded else "" for j in judged)]
    wide = max(map(len, numbers))
    texts = [f"{number:>{wide}} {bound}" for number, bound in zip(numbers, bounds, strict=True)]
    return Column(f"{head}{f', {LEVEL}' if any(bounds) else ''}", texts)


def _number(ratio: Interval) -> str:
    return units.ratio(ratio.estimate).removesuffix("×")


def _verdicts(judged: list[Judged], metric: spec.MetricSpec, rank: int) -> Column:
    said = [f"[{TONES[wording.tone(j, metric)]}]{wording.short(j, metric)}[/]" for j in judged]
    return Column("", ["", *said], rank)


def _counts(cause: Cause, names: list[str]) -> Column:
    numbers = [_number(cause.judged[name].ratio) if name in cause.judged else units.NOTHING for name in names]
    return Column(CAUSES[cause.metric][0], ["1", *numbers], CAUSES[cause.metric][1], right=True)


def _undecided(summaries: list[Summary]) -> list[str]:
    """Every reason why a ratio has no verdict, with the ratios it holds for."""
    reasons: dict[str, list[str]] = {}
    for summary in summaries:
        for what, judged in (("time", summary.time), ("memory", summary.memory)):
            if reason := wording.why(judged):
                reasons.setdefault(reason, []).append(f"{summary.allocator} ({what})")
    every = 2 * len(summaries)
    return [
        f"Undecided, {reason}: {'all' if len(where) == every else wording.listed(where)}."
        for reason, where in reasons.items()
    ]


def _print_servers(study: Study, console: Console) -> None:
    """The medians of a server. A median better than the baseline's is green."""
    for cell in study.cells:
        if not (rows := server_rows(study, cell)):
            continue
        columns = [Column(escape(study.name), [escape(title) for title, _ in rows])]
        for place, name in enumerate(study.candidates):
            figures = [row[place] for _, row in rows]
            texts = [
                f"{escape(f.text)} [{TONES[f.tone]}]{f.ratio}[/]" if f.ratio else escape(f.text)
                for f in figures
            ]
            columns.append(Column(escape(name), texts, place))
        console.print()
        put_table(console, columns)


def _print_faults(analysis: Analysis, console: Console) -> None:
    total = sum(analysis.counts().values())
    repeated = {run.order for run in analysis.repeated}
    lost = [run for run in analysis.without_figure if run.order not in repeated]
    if repeated or analysis.disturbed:
        console.print()
        put(console, f"Runs: {wording.run_counts(analysis)}.")
    if lost:
        console.print()
        put(console, f"{len(lost)} of {total} runs gave no figure:")
    for reason, names in _reasons(lost).items():
        put(console, escape(f"{reason} ({wording.listed(names)})"), label="  -", indent=4)


def _reasons(lost: Sequence[Run]) -> dict[str, list[str]]:
    """The reasons of lost runs, with the allocators concerned."""
    allocators: dict[str, dict[str, None]] = {}
    for run in lost:
        allocators.setdefault(f"{run.experiment}: {run.reason}", {})[run.allocator] = None
    return {reason: sorted(names) for reason, names in sorted(allocators.items())}


def print_claims(outcomes: Sequence[ClaimOutcome], console: Console) -> None:
    """Every claim, with what the figures say about it."""
    if not outcomes:
        console.print("No experiment in these results makes a claim that can be tested.")
    for outcome in outcomes:
        color = RESULTS[outcome.result]
        put(console, f"[{color}]{outcome.verdict}[/]  {escape(outcome.experiment)}: {escape(outcome.says)}")
        put(console, f"[dim]{escape(outcome.figures)}[/]", indent=4)
