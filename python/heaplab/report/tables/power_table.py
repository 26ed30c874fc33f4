"""What was decided, what more measuring would decide, and which noise stands in its way."""

from math import inf, isnan

from rich.console import Console
from rich.markup import escape

from heaplab.analysis import Analysis, Outlook, Power, power_of
from heaplab.report.tables.table_parts import Entry, Table, columns_of
from heaplab.report.words.next_steps import DAY_S
from heaplab.screen.console import put, put_table
from heaplab.stats import THRESHOLD, finite
from heaplab.text import units

ASSUMED = "A forecast: cells go on alike, estimates stay, and further blocks vary as the present ones."
SOURCES = {
    "runs": "from run to run: no pairing removes it",
    "foreign": "foreign load: goes with the CPU time of others",
    "blocks": "from block to block: cancels in pairs",
    "drift": "drift from block to block: cancels in pairs",
}
MUCH_FOREIGN = 0.05  # of a CPU
SHORT_S = 0.2


def outlook_table(analysis: Analysis, power: Power) -> Table:
    caption = "Time until half and all of the rest is decided; a block of every cell takes"
    columns = ["decided", "blocks", "half-width", "half in", "all in"]
    rows = []
    for outlook in power.outlooks:
        texts = [
            f"{outlook.decided} of {len(outlook.judged)}",
            str(outlook.blocks),
            units.percent(outlook.half_width),
        ]
        texts += [more_time(outlook, share, power) for share in (0.5, 1.0)]
        rows.append((outlook.name, list(map(Entry, texts))))
    notes = [ASSUMED, *advice(analysis, power)]
    return Table(f"{caption} {power.round_s:.3g} s", columns, rows, "asked", notes=notes)


def more_time(outlook: Outlook, share: float, power: Power) -> str:
    """ "12 min more" until this share of the undecided comparisons is decided; a dash if none is open."""
    if not outlook.more:
        return units.NOTHING
    seconds = power.seconds_until(outlook, share)
    if isnan(seconds):
        return "unknown"
    if seconds == inf:
        return "never"
    return f"{seconds / 60:.2g} min" if seconds < DAY_S else "days"


def noise_table(power: Power) -> Table | None:
    if power.noise is None:
        return None
    shares = {title: getattr(power.noise, name) for name, title in SOURCES.items()}
    largest_first = sorted(shares, key=shares.__getitem__, reverse=True)
    rows = [(title, [Entry(units.percent(shares[title]))]) for title in largest_first]
    caption = f"Where the variation comes from; a run deviates by {units.percent(power.noise.deviation)}"
    return Table(caption, ["share"], rows, "source")


def advice(analysis: Analysis, power: Power) -> list[str]:
    """What helps against the largest source; nothing if all is decided."""
    noise = power.noise
    if noise is None or not any(outlook.more for outlook in power.outlooks):
        return []
    lines = []
    if noise.foreign >= max(noise.runs, noise.blocks, noise.drift) or power.foreign > MUCH_FOREIGN:
        used = units.percent(power.foreign)
        lines.append(f"Measure at another time: other processes used {used} of a CPU during the runs.")
    if max(noise.blocks, noise.drift) > noise.runs + noise.foreign:
        lines.append("Most of the variation is common to the runs of a block and cancels in pairs.")
    elif power.run_s < SHORT_S:
        lines.append(f"Longer runs help: the median run takes {units.show(power.run_s, 's')}.")
    wide = noise.deviation > THRESHOLD and noise.runs > noise.blocks + noise.drift
    if wide and not analysis.campaign.pinned:
        lines.append("Runs differ for themselves: --pin, or a machine of your own, may narrow that.")
    return lines


def print_power(analysis: Analysis, console: Console) -> None:
    power = power_of(analysis)
    decided, asked = sum(each.decided for each in power.outlooks), sum(len(o.judged) for o in power.outlooks)
    put(console, f"[bold]{decided} of {units.counted(asked, 'comparison')} decided.[/]")
    outlook = outlook_table(analysis, power)
    console.print()
    put_table(console, columns_of(outlook))
    for line in (outlook.caption + ".", ASSUMED):
        put(console, escape(line))
    if spread := noise_table(power):
        console.print()
        put_table(console, columns_of(spread))
        put(console, escape(spread.caption + "."))
    for line in advice(analysis, power):
        put(console, escape(line))


def plain_power(analysis: Analysis) -> dict[str, object]:
    """The same in types that JSON has; `null` for what never happens or is not known."""
    power = power_of(analysis)
    return {
        "round_s": power.round_s,
        "run_s": finite(power.run_s),
        "foreign": finite(power.foreign),
        "outlooks": [
            {
                "name": outlook.name,
                "decided": outlook.decided,
                "comparisons": len(outlook.judged),
                "blocks": outlook.blocks,
                "half_width": finite(outlook.half_width),
                "more_blocks": [finite(blocks) for blocks in outlook.more],
            }
            for outlook in power.outlooks
        ],
        "noise": vars(power.noise) if power.noise else None,
        "advice": advice(analysis, power),
    }
