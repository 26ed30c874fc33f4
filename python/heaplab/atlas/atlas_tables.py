"""The tables of an atlas. A row is found by the words in it: subject, machine, version, date, verdict."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from markupsafe import Markup

from heaplab.atlas.campaign_ratios import AtlasCampaign
from heaplab.atlas.many_campaigns import Dated
from heaplab.atlas.regressions import BuildChange
from heaplab.report.tables.aspect_answer import METRICS
from heaplab.report.tables.ratio_entry import ratio_entry
from heaplab.report.tables.table_parts import Entry, Table
from heaplab.report.words import wording
from heaplab.text import units

Links = Mapping[tuple[str, str], str]  # from (kind, name) to the page, relative to the site


def left(text: str) -> Entry:
    return Entry(text, tone="left")


def link(links: Links, up: str, kind: str, name: str) -> str:
    """The name, as a link if it has a page."""
    place = links.get((kind, name))
    return Markup('<a href="{}{}">{}</a>').format(up, place, name) if place else name


def ratio_of(dated: Dated, *, colored: bool = False, remark: str = "") -> Entry:
    return ratio_entry(dated.ratio.judged, METRICS[dated.ratio.measure], colored=colored, remark=remark)


def newest(ratios: Iterable[Dated]) -> list[Dated]:
    """The last ratio of each subject, measure, allocator, build, machine and scale, the newest first."""
    last = {
        (
            dated.ratio.about,
            dated.ratio.measure,
            dated.ratio.allocator,
            dated.build,
            dated.campaign.machine,
            dated.campaign.scale,
        ): dated
        for dated in ratios
    }
    return sorted(last.values(), key=lambda dated: (dated.campaign.started, dated.ratio.about), reverse=True)


def ratio_table(caption: str, corner: str, rows: Sequence[tuple[str, Dated]]) -> Table:
    columns = ["measure", "to the baseline", "verdict", "version", "baseline", "machine", "date"]
    body = []
    for name, dated in rows:
        entries = [
            left(dated.ratio.measure),
            replace(ratio_of(dated), title=""),
            left(wording.verdict(dated.ratio.judged, METRICS[dated.ratio.measure])),
            left(dated.version),
            left(dated.campaign.baseline),
            left(dated.campaign.machine),
            left(f"{dated.campaign.date}, {dated.campaign.scale}"),
        ]
        body.append((name, entries))
    return Table(caption, columns, body, corner)


def matrix(caption: str, corner: str, rows: Mapping[str, Mapping[str, Dated]]) -> Table:
    """Ratios with names down and across."""
    columns = sorted({name for row in rows.values() for name in row})
    nothing = Entry(units.NOTHING)
    entries = [
        (name, [ratio_of(row[column], colored=True) if column in row else nothing for column in columns])
        for name, row in rows.items()
    ]
    return Table(caption, columns, entries, corner)


def change_table(caption: str, changes: Sequence[BuildChange], links: Links, up: str) -> Table:
    columns = ["experiment", "measure", "new to old", "old", "new", "limit", "machine"]
    rows = []
    for change in changes:
        ratio, bounds = units.ratio(change.ratio.estimate), units.bounds(change.ratio)
        entries = [
            left(change.new.ratio.about),
            left(change.new.ratio.measure),
            Entry(ratio, bounds, "bad", "▲", title=change.verdict),
            *(left(f"{dated.version}, {dated.campaign.date}") for dated in (change.old, change.new)),
            Entry(units.percent(change.limit)),
            left(change.new.campaign.machine),
        ]
        rows.append((link(links, up, "allocator", change.new.ratio.allocator), entries))
    return Table(caption, columns, rows, "allocator")


def campaign_table(campaigns: Sequence[AtlasCampaign], links: Links, up: str) -> Table:
    columns = ["machine", "scale", "experiments", "runs", "heaplab", "measured by", "file"]
    rows = []
    for campaign in reversed(campaigns):
        entries = [
            left(link(links, up, "machine", campaign.machine)),
            left(campaign.scale),
            Entry(str(len(campaign.experiments))),
            Entry(f"{campaign.runs:,}"),
            left(campaign.heaplab),
            left(Markup("<code>{}</code>").format(campaign.command)),
            left(campaign.file),
        ]
        rows.append((campaign.started[:16].replace("T", " "), entries))
    return Table("The newest first", columns, rows, "date")
