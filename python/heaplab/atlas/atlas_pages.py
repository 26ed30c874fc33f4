"""The pages of an atlas: the first, and one for each allocator, workload and machine."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from heaplab.atlas.atlas_tables import (
    Links,
    campaign_table,
    change_table,
    left,
    link,
    matrix,
    newest,
    ratio_table,
)
from heaplab.atlas.campaign_ratios import MEASURES, AtlasCampaign
from heaplab.atlas.many_campaigns import Atlas, Dated
from heaplab.atlas.over_time import over_time
from heaplab.atlas.regressions import BuildChange, build_changes
from heaplab.report.pictures import palette
from heaplab.report.pictures.figures import Drawing
from heaplab.report.tables.table_parts import Entry, Table
from heaplab.report.words import wording
from heaplab.stats import FAMILY_ERROR_TEXT, LEVEL, GateVerdict
from heaplab.text import units

NAMED = 3  # largest number of versions of an allocator on the first page
READING = (
    "Ratios are to the baseline of the same campaign, below 1 is better; nothing is averaged over campaigns "
    f"or machines. The small print is the {LEVEL} interval. ▼ faster or less memory, ▲ slower or more, = no "
    "difference, ? undecided: the rules are those of every report. In pictures a marker stands where a build "
    "is new."
)
RULE = (
    "What got worse from one build of an allocator to the next, by the rule of heaplab gate with its limits "
    "of 5 % time and 3 % memory: the whole interval lies above the limit and above the noise floor, and all "
    f"comparisons together are held to {FAMILY_ERROR_TEXT} error. Compared is the last campaign of each "
    "build on one machine, with the same baseline, kernel and C library. What else changed there in between, "
    "such as load or temperature, is in no interval: before you act on it, make both builds arms of one "
    "campaign, "
    "heaplab gate OLD NEW."
)


@dataclass(frozen=True)
class AtlasSection:
    title: str
    anchor: str
    text: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    heat_map: bool = False
    drawings: list[Drawing] = field(default_factory=list)
    facts: list[tuple[str, str]] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class AtlasPage:
    place: str  # path relative to the site
    title: str
    about: str
    sections: list[AtlasSection]
    filters: dict[str, list[str]]  # what the rows of this page can be narrowed to

    @property
    def up(self) -> str:
        """The relative path from this page's folder to the site's first folder: "../" for each level."""
        return "../" * self.place.count("/")


class AtlasSite:
    def __init__(self, atlas: Atlas, links: Links) -> None:
        self.atlas = atlas
        self.links = links
        self.changes = build_changes(atlas)
        self.worse = [change for change in self.changes if change.verdict is GateVerdict.WORSE]

    def pages(self) -> Iterator[AtlasPage]:
        yield self.first()
        for (kind, name), place in self.links.items():
            make = {"allocator": self.allocator, "workload": self.workload, "machine": self.machine}[kind]
            yield make(name, place)

    def first(self) -> AtlasPage:
        atlas = self.atlas
        campaigns = units.counted(len(atlas.campaigns), "campaign")
        machines = units.counted(len(atlas.machines), "machine")
        span = span_of(atlas.campaigns)
        return AtlasPage(
            "index.html",
            "Atlas of memory allocators",
            f"{campaigns} on {machines}, {span}",
            [
                self.regressions(self.worse, ""),
                AtlasSection("Allocators", "allocators", tables=[self.allocator_table()]),
                AtlasSection("Workloads", "workloads", tables=[self.workload_table()]),
                AtlasSection("Machines", "machines", tables=[self.machine_table()]),
                AtlasSection(
                    "Campaigns", "campaigns", tables=[campaign_table(atlas.campaigns, self.links, "")]
                ),
            ],
            {"machine": atlas.machines},
        )

    def regressions(self, worse: Sequence[BuildChange], up: str) -> AtlasSection:
        text = [RULE]
        if not worse:
            changes = units.counted(len(self.changes), "comparison")
            text.insert(0, f"None is shown, in {changes} of one build with the next.")
        tables = [change_table("The new build is worse", worse, self.links, up)] if worse else []
        return AtlasSection("Regressions", "regressions", text, tables)

    def allocator_table(self) -> Table:
        rows = []
        for name in self.atlas.allocators:
            held = [campaign for campaign in self.atlas.campaigns if name in campaign.versions]
            versions = list(dict.fromkeys(dated.versions[name] for dated in reversed(held)))
            entries = [
                left(wording.shortened(versions, NAMED)),
                Entry(str(len(held))),
                Entry(str(sum(dated.new.ratio.allocator == name for dated in self.worse))),
                left(held[-1].date if held else ""),
            ]
            rows.append((link(self.links, "", "allocator", name), entries))
        return Table("", ["newest versions", "campaigns", "regressions", "last"], rows, "allocator")

    def workload_table(self) -> Table:
        rows = []
        for name, items in self.of_workloads().items():
            about = [self.atlas.experiments[item] for item in items]
            aspects = dict.fromkeys(item.aspect for item in about if item.aspect)
            entries = [left(about[0].workload_title), left(", ".join(aspects)), left(", ".join(items))]
            rows.append((link(self.links, "", "workload", name), entries))
        return Table("", ["title", "aspects", "experiments"], rows, "workload")

    def machine_table(self) -> Table:
        rows = []
        for name in self.atlas.machines:
            held = [campaign for campaign in self.atlas.campaigns if campaign.machine == name]
            entries = [Entry(str(len(held))), left(held[0].date), left(held[-1].date)]
            rows.append((link(self.links, "", "machine", name), entries))
        return Table("", ["campaigns", "first", "last"], rows, "machine")

    def of_workloads(self) -> dict[str, list[str]]:
        experiments: dict[str, list[str]] = {}
        for item in self.atlas.experiments.values():
            experiments.setdefault(item.workload, []).append(item.id)
        return dict(sorted(experiments.items()))

    def allocator(self, name: str, place: str) -> AtlasPage:
        own = [ratio for ratio in self.atlas.ratios if ratio.ratio.allocator == name]
        aspects = [aspect for aspect in self.atlas.aspects if aspect.ratio.allocator == name]
        rows = [(self.to_workload(dated.ratio.about), dated) for dated in newest(own)]
        held = [campaign for campaign in self.atlas.campaigns if name in campaign.versions]
        return AtlasPage(
            place,
            name,
            f"{units.counted(len(held), 'campaign')}; to the baseline of each",
            [
                self.regressions([dated for dated in self.worse if dated.new.ratio.allocator == name], "../"),
                AtlasSection(
                    "By aspect, over time",
                    "aspects",
                    [] if aspects else ["No campaign answers by aspect: `heaplab compare` does."],
                    [ratio_table("", "aspect", [(dated.ratio.about, dated) for dated in newest(aspects)])],
                    drawings=self.drawn(aspects, lambda aspect: aspect.campaign.machine),
                ),
                AtlasSection(
                    "Every experiment",
                    "experiments",
                    ["The last figure of each build."],
                    [ratio_table("", "experiment", rows)],
                ),
            ],
            {"machine": self.atlas.machines, "measure": list(MEASURES)},
        )

    def drawn(self, ratios: Sequence[Dated], by: Callable[[Dated], str]) -> list[Drawing]:
        """A picture for each subject and measure: one panel, a line for each value of `by`."""
        lines: dict[tuple[str, str], dict[str, list[Dated]]] = {}
        for each in ratios:
            subject = lines.setdefault((each.ratio.about, each.ratio.measure), {})
            subject.setdefault(by(each), []).append(each)
        styles = palette.styles(["", *sorted({by(dated) for dated in ratios})])
        drawn = [
            over_time(titled(about, measure), {"": own}, styles) for (about, measure), own in lines.items()
        ]
        return [dated for dated in drawn if dated]

    def to_workload(self, experiment: str) -> str:
        workload = self.atlas.experiments[experiment].workload
        place = self.links[("workload", workload)]
        return link({("", experiment): f"{place}#{experiment}"}, "../", "", experiment)

    def workload(self, name: str, place: str) -> AtlasPage:
        items = [self.atlas.experiments[item] for item in self.of_workloads()[name]]
        return AtlasPage(
            place,
            items[0].workload_title,
            f"{units.counted(len(items), 'experiment')}: {', '.join(item.id for item in items)}",
            [
                AtlasSection("What its figures show", "card", facts=list(items[0].card)),
                *(self.experiment(item.id) for item in items),
            ],
            {"machine": self.atlas.machines, "measure": list(MEASURES)},
        )

    def experiment(self, name: str) -> AtlasSection:
        about = self.atlas.experiments[name]
        ratios = [ratio for ratio in self.atlas.ratios if ratio.ratio.about == name]
        rows = [
            (link(self.links, "../", "allocator", dated.ratio.allocator), dated) for dated in newest(ratios)
        ]
        styles = palette.styles(["", *self.atlas.allocators])
        drawn = [
            over_time(
                titled(about.title, measure),
                {machine: self.by_allocator(ratios, machine, measure) for machine in self.atlas.machines},
                styles,
            )
            for measure in MEASURES
        ]
        return AtlasSection(
            f"{about.title} ({name})",
            name,
            [f"Aspect: {about.aspect}."] if about.aspect else [],
            [ratio_table("The last figure of each build", "allocator", rows)],
            drawings=[dated for dated in drawn if dated],
            commands=[about.again],
        )

    @staticmethod
    def by_allocator(ratios: Sequence[Dated], machine: str, measure: str) -> dict[str, list[Dated]]:
        lines: dict[str, list[Dated]] = {}
        for dated in ratios:
            if dated.campaign.machine == machine and dated.ratio.measure == measure:
                lines.setdefault(dated.ratio.allocator, []).append(dated)
        return lines

    def machine(self, name: str, place: str) -> AtlasPage:
        held = [campaign for campaign in self.atlas.campaigns if campaign.machine == name]
        aspects = [aspect for aspect in self.atlas.aspects if aspect.campaign.machine == name]
        ratios = [ratio for ratio in self.atlas.ratios if ratio.campaign.machine == name]
        tables = [self.last_of(aspects, measure, "aspect") for measure in MEASURES]
        every = [self.last_of(ratios, measure, "experiment") for measure in MEASURES]
        return AtlasPage(
            place,
            name,
            f"{units.counted(len(held), 'campaign')}, {span_of(held)}",
            [
                AtlasSection(
                    "By aspect", "aspects", ["The last figure of each."], [t for t in tables if t.rows], True
                ),
                AtlasSection("Every experiment", "experiments", [], [t for t in every if t.rows], True),
                AtlasSection(
                    "What it is", "facts", ["When it was last measured:"], facts=list(held[-1].facts)
                ),
                AtlasSection("Campaigns", "campaigns", tables=[campaign_table(held, {}, "../")]),
            ],
            {},
        )

    def last_of(self, ratios: Sequence[Dated], measure: str, corner: str) -> Table:
        rows: dict[str, dict[str, Dated]] = {}
        for dated in ratios:
            if dated.ratio.measure == measure:
                about = dated.ratio.about
                title = self.to_workload(about) if corner == "experiment" else about
                rows.setdefault(title, {})[dated.ratio.allocator] = dated
        return matrix(f"{measure.capitalize()}, to the baseline", corner, rows)


def span_of(campaigns: Sequence[AtlasCampaign]) -> str:
    first, last = campaigns[0].date, campaigns[-1].date
    return first if first == last else f"{first} to {last}"


def titled(about: str, measure: str) -> str:
    """ "Large blocks: time"; "Memory" alone for the aspect of that name."""
    return about if about.lower() == measure else f"{about}: {measure}"
