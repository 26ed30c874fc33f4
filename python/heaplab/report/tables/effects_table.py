"""The effects of crossed settings as a table, and sentences that sum the effects up."""

from heaplab.analysis import MEMORY_ONLY, TIME_ONLY, Analysis, Effect, effects
from heaplab.report.tables.ratio_entry import ratio_entry
from heaplab.report.tables.table_parts import Entry, Table
from heaplab.report.words import wording
from heaplab.results import spec

METRICS = ((TIME_ONLY, wording.TIME), (MEMORY_ONLY, wording.MEMORY))


def effects_table(analysis: Analysis, kind: str) -> Table | None:
    """Main effects and interactions on time and memory; None if the arms are no factorial."""
    columns = [effects(analysis, kind, metrics) for metrics, _ in METRICS]
    if not columns[0]:
        return None
    rows = [
        (
            name_of(of_factor[0]),
            [entry(each, metric) for each, (_, metric) in zip(of_factor, METRICS, strict=True)],
        )
        for of_factor in zip(*columns, strict=True)
    ]
    caption = (
        "Effects of the settings: a setting's high level to its low level, over all other settings; "
        "an interaction is the factor by which one changes the effect of the other, 1 for none"
    )
    return Table(caption, ["time", "peak memory"], rows, "setting")


def name_of(effect: Effect) -> str:
    if len(effect.settings) > 1:
        return f"interaction of {wording.listed(list(effect.settings))}"
    return f"{effect.settings[0]} {effect.low[0] or 'unset'} → {effect.high[0] or 'unset'}"


def entry(effect: Effect, metric: spec.MetricSpec) -> Entry:
    """The ratio with its verdict; for an interaction, whether there is one."""
    said = "none" if wording.tone(effect.judged, metric) == "same" else "there is one"
    if len(effect.settings) == 1 or effect.judged.why:
        said = wording.short(effect.judged, metric)
    return ratio_entry(effect.judged, metric, remark=said)
