"""Figure by figure of the publications: experiment, scale that was run, what holds. A page of Markdown."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from heaplab.analysis.claims import DIRECTION, ClaimOutcome, ClaimResult
from heaplab.report.page.reproduced import Reproduced, newest, unobtainable
from heaplab.results.publication_spec import NumberedPart, Publication
from heaplab.results.spec import Expectation, Experiment
from heaplab.text import units
from heaplab.text.markdown import table

NOT_RUN = "not run"
RESULTS = [*ClaimResult, NOT_RUN]
DIRECTION_ALONE = "of these the direction holds"
READING = """\
A sentence *holds* if the whole interval of its ratio lies where the publication says, *does not hold*
if the whole interval lies elsewhere, and is *undecided* otherwise. Of a sentence that states an amount, its
direction and its amount have a verdict each, and it holds if both do: the direction holds beyond 1 on the
stated side, by 3 % or a third of a smaller change, the amount within a third of the stated change. *About
four* is 3 to 5, *25 % more* is 1.17 to 1.33, *a tenth* is 1/13 to 1/7; *at most*, *less than* and *up to* are
bounds without such room. Where a sentence gives no number, *several times* is 3 and more, *far more* 2 and
more, *faster* and *less* 3 % and more. A sentence about all allocators is tested against all that can be had;
those that cannot are named.

It *cannot be decided here* if the scale that was run, or this machine, lacks what it speaks of: an allocator,
a number of threads, a size; the reason stands beside it. What was *not run* here has no verdict. A ratio has
*no interval* where there were too few blocks for one, which leaves its sentence undecided. With more threads
than processors, threads take turns: a trend along the threads ends at the number of processors. The *full
scale* is the publication's own, whole or with fewer values of what it sweeps; where a budget decided on the
scale, the reason stands beside it.
"""


@dataclass(frozen=True)
class CoveredPart:
    """A part of a publication, with the sentences about it and what was measured of it."""

    part: NumberedPart
    experiment: Experiment | None
    measured: Reproduced | None

    @property
    def sentences(self) -> list[Expectation]:
        if self.experiment is None:
            return []
        names = self.part.names
        return [
            expectation
            for expectation in self.experiment.expectations
            if not expectation.figure or expectation.figure in names
        ]

    def outcome(self, sentence: Expectation) -> ClaimOutcome | None:
        if self.experiment is None:
            return None
        measured = self.measured.outcome_of(self.experiment, sentence) if self.measured else None
        return unobtainable(self.experiment, sentence) or measured

    def result(self, sentence: Expectation) -> str:
        outcome = self.outcome(sentence)
        return outcome.result if outcome else NOT_RUN


def page(
    publications: Sequence[Publication],
    experiments: Mapping[str, Experiment],
    known: Sequence[Reproduced],
    how: str,
    pictures: str,
) -> str:
    """`how` is a sentence on how to write the page again; `pictures` holds a page for each experiment."""
    measured = newest(known)
    parts = {
        publication.id: [
            CoveredPart(part, experiments.get(part.experiment), measured.get(part.experiment))
            for part in publication.parts
        ]
        for publication in publications
    }
    return "\n".join(
        [
            "# Figure by figure: what holds",
            "",
            f"Every numbered figure and table of {units.counted(len(parts), 'publication')}. {how}",
            "",
            READING,
            totals(publications, parts),
            *(section(publication, parts[publication.id], pictures) for publication in publications),
            machines(measured),
        ]
    )


def totals(publications: Sequence[Publication], parts: Mapping[str, list[CoveredPart]]) -> str:
    results = [name for result in RESULTS for name in columns_of(result)]
    head = ["publication", "figures and tables", "with an experiment", "measured", *results]
    rows = []
    for publication in publications:
        of_publication = parts[publication.id]
        counts = counted(of_publication)
        with_figures = [each for each in of_publication if each.part.experiment]
        measured = [each for each in with_figures if each.measured]
        names = [
            sum(len(each.part.names) for each in some) for some in (of_publication, with_figures, measured)
        ]
        rows.append([publication.title, *map(str, names), *(str(counts[result]) for result in results)])
    columns = zip(*(row[1:] for row in rows), strict=True)
    rows.append(["together", *(str(sum(map(int, column))) for column in columns)])
    return table(head, rows)


def columns_of(result: str) -> list[str]:
    return [result, DIRECTION_ALONE] if result == ClaimResult.FAILS else [result]


def counted(parts: Sequence[CoveredPart]) -> Counter[str]:
    """The results of the sentences, each sentence once, though several parts may share one."""
    each = {
        (part.part.experiment, sentence.sentence): (part.result(sentence), part.outcome(sentence))
        for part in parts
        for sentence in part.sentences
    }
    counts = Counter(result for result, _ in each.values())
    counts[DIRECTION_ALONE] = sum(
        outcome.results.get(DIRECTION) == ClaimResult.HOLDS and outcome.result == ClaimResult.FAILS
        for _, outcome in each.values()
        if outcome
    )
    return counts


def section(publication: Publication, parts: Sequence[CoveredPart], pictures: str) -> str:
    head = ["number", "what", "experiment", "run", "sentences", "picture"]
    return "\n".join(
        [
            f"## {publication.title}\n",
            f"{publication.source}.\n",
            table(
                head,
                [row(part, pictures, told) for part, told in zip(parts, told_before(parts), strict=True)],
            ),
            f"### {publication.title}, sentence by sentence\n",
            table(["number", "the publication", "here", "figures"], list(sentences(parts))),
            *(f"- {name} is not obtainable: {why}." for name, why in publication.unobtainable.items()),
            *([""] if publication.unobtainable else []),
        ]
    )


def told_before(parts: Sequence[CoveredPart]) -> list[bool]:
    """Of each part, whether an earlier one has the same experiment, and so the same run."""
    experiments = [part.part.experiment for part in parts]
    return [experiment in experiments[:place] for place, experiment in enumerate(experiments)]


def row(covered_part: CoveredPart, pictures: str, told: bool) -> list[str]:
    part = covered_part.part
    if part.why_none:
        return [part.label, part.shows, f"none: {part.why_none}", "", "", ""]
    counts = Counter(covered_part.result(sentence) for sentence in covered_part.sentences)
    said = ", ".join(f"{counts[result]} {result}" for result in RESULTS if counts[result])
    if covered_part.measured is None:
        return [part.label, part.shows, f"`{part.experiment}`", NOT_RUN, said, ""]
    return [
        part.label,
        part.shows,
        f"`{part.experiment}`",
        "as above" if told else extent(covered_part.measured, covered_part.experiment),
        said or "no sentence to test",
        f"[picture]({pictures}/{file_name(part.experiment)})",
    ]


def extent(measured: Reproduced, experiment: Experiment | None) -> str:
    """The scale that was run, and how it falls short of the publication's."""
    whole = len(experiment.cells("full")) if experiment else 0
    said = f"{measured.date}, {measured.cpus}, {measured.scale} scale, {units.counted(measured.runs, 'run')}"
    if measured.scale == "full" and measured.cells < whole:
        said += f" of {measured.cells} of its {units.counted(whole, 'cell')}"
    if measured.disturbed:
        said += f", {measured.disturbed} of them disturbed by other work"
    if measured.scale == "quick":
        said += f"; the full scale has {units.counted(whole, 'cell')}"
    if measured.why_scale:
        said += f"; {measured.why_scale}"
    return said if measured.finished else f"{said}; not carried out to the end"


def file_name(experiment: str) -> str:
    return f"{experiment.replace('/', '-')}.md"


def sentences(parts: Sequence[CoveredPart]) -> Iterator[list[str]]:
    told: set[tuple[str, str]] = set()
    for part in parts:
        for sentence in part.sentences:
            if (key := (part.part.experiment, sentence.sentence)) in told:
                continue
            told.add(key)
            outcome = part.outcome(sentence)
            verdict, figures = (outcome.verdict, outcome.figures) if outcome else (NOT_RUN, "")
            yield [sentence.figure or part.part.label, sentence.says, f"**{verdict}**", figures]


def machines(measured: Mapping[str, Reproduced]) -> str:
    """Where and how each experiment was measured; experiments of one campaign share a line."""
    campaigns: dict[tuple[str, ...], list[str]] = {}
    for measurement in measured.values():
        versions = ", ".join(f"{name} {version}".strip() for name, version in measurement.versions.items())
        key = (
            f"`{measurement.command}`",
            measurement.date,
            measurement.machine,
            versions,
            measurement.heaplab,
        )
        campaigns.setdefault(key, []).append(f"`{measurement.experiment}`")
    rows = [[", ".join(sorted(names)), *key] for key, names in sorted(campaigns.items())]
    head = ["experiments", "command", "date", "machine", "allocators", "heaplab"]
    return "## Where it was measured\n\n" + (table(head, rows) if rows else "Nothing was measured yet.\n")
