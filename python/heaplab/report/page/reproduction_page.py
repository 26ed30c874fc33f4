"""Figure by figure of the publications: experiment, scale that was run, what holds. A page of Markdown."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from heaplab.catalog.publication_spec import NumberedPart, Publication
from heaplab.catalog.spec import Expectation, Experiment
from heaplab.claims import ClaimResult
from heaplab.report.page.reproduced import Reproduced, newest
from heaplab.report.words import units
from heaplab.report.words.markdown import table

NOT_RUN = "not run"
RESULTS = [*ClaimResult, NOT_RUN]
READING = """\
A sentence *holds* if the whole 95 % interval of its ratio lies where the publication says, *does not hold*
if the whole interval lies elsewhere, and is *undecided* otherwise. It *cannot be decided here* if the scale
that was run, or this machine, lacks what it speaks of: an allocator, a number of threads, a size; the reason
stands beside it. What was *not run* here has no verdict. A ratio has *no interval* where there were too few
blocks for one, which leaves its sentence undecided. With more threads than processors, threads take
turns: a trend along the threads ends at the number of processors. The *full scale* is the publication's
own, whole or with fewer values of what it sweeps; where a budget decided on the scale, the reason stands
beside it.
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
        return [one for one in self.experiment.expectations if not one.figure or one.figure in names]

    def result(self, sentence: Expectation) -> str:
        found = self.measured.outcome_of(sentence) if self.measured else None
        return found.result if found else NOT_RUN


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
        one.id: [
            CoveredPart(part, experiments.get(part.experiment), measured.get(part.experiment))
            for part in one.parts
        ]
        for one in publications
    }
    return "\n".join(
        [
            "# Figure by figure: what holds",
            "",
            f"Every numbered figure and table of {units.counted(len(parts), 'publication')}. {how}",
            "",
            READING,
            totals(publications, parts),
            *(section(one, parts[one.id], pictures) for one in publications),
            machines(measured),
        ]
    )


def totals(publications: Sequence[Publication], parts: Mapping[str, list[CoveredPart]]) -> str:
    head = ["publication", "figures and tables", "with an experiment", "measured", *RESULTS]
    rows = []
    for one in publications:
        found = parts[one.id]
        counts = counted(found)
        with_figures = [each for each in found if each.part.experiment]
        measured = [each for each in with_figures if each.measured]
        names = [sum(len(each.part.names) for each in some) for some in (found, with_figures, measured)]
        rows.append([one.title, *map(str, names), *(str(counts[result]) for result in RESULTS)])
    columns = zip(*(row[1:] for row in rows), strict=True)
    rows.append(["together", *(str(sum(map(int, column))) for column in columns)])
    return table(head, rows)


def counted(parts: Sequence[CoveredPart]) -> Counter[str]:
    """The results of the sentences, each sentence once, though several parts may share one."""
    each = {
        (one.part.experiment, sentence.sentence): one.result(sentence)
        for one in parts
        for sentence in one.sentences
    }
    return Counter(each.values())


def section(publication: Publication, parts: Sequence[CoveredPart], pictures: str) -> str:
    head = ["number", "what", "experiment", "run", "sentences", "picture"]
    return "\n".join(
        [
            f"## {publication.title}\n",
            f"{publication.source}.\n",
            table(head, [row(one, pictures) for one in parts]),
            f"### {publication.title}, sentence by sentence\n",
            table(["number", "the publication", "here", "figures"], list(sentences(parts))),
        ]
    )


def row(one: CoveredPart, pictures: str) -> list[str]:
    part = one.part
    if part.why_none:
        return [part.label, part.shows, f"none: {part.why_none}", "", "", ""]
    counts = Counter(one.result(sentence) for sentence in one.sentences)
    said = ", ".join(f"{counts[result]} {result}" for result in RESULTS if counts[result])
    if one.measured is None:
        return [part.label, part.shows, f"`{part.experiment}`", NOT_RUN, said, ""]
    return [
        part.label,
        part.shows,
        f"`{part.experiment}`",
        extent(one.measured, one.experiment),
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
    for one in parts:
        for sentence in one.sentences:
            if (key := (one.part.experiment, sentence.sentence)) in told:
                continue
            told.add(key)
            found = one.measured.outcome_of(sentence) if one.measured else None
            figures = found.figures if found else ""
            yield [sentence.figure or one.part.label, sentence.says, f"**{one.result(sentence)}**", figures]


def machines(measured: Mapping[str, Reproduced]) -> str:
    """Where and how each experiment was measured; experiments of one campaign share a line."""
    campaigns: dict[tuple[str, ...], list[str]] = {}
    for one in measured.values():
        versions = ", ".join(f"{name} {version}".strip() for name, version in one.versions.items())
        key = (f"`{one.command}`", one.date, one.machine, versions, one.heaplab)
        campaigns.setdefault(key, []).append(f"`{one.experiment}`")
    rows = [[", ".join(sorted(names)), *key] for key, names in sorted(campaigns.items())]
    head = ["experiments", "command", "date", "machine", "allocators", "heaplab"]
    return "## Where it was measured\n\n" + (table(head, rows) if rows else "Nothing was measured yet.\n")
