"""The content of a trace as lines of text."""

from pathlib import PurePath
from typing import Any

from heaplab.report.words import beyond_malloc
from heaplab.text.units import counted
from heaplab.traces import architecture, trace_coverage

UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def size(count: int) -> str:
    amount, unit = float(count), 0
    while amount >= 1024 and unit < len(UNITS) - 1:
        amount, unit = amount / 1024, unit + 1
    return f"{amount:.4g} {UNITS[unit]}"


def number(of: dict[str, str], name: str) -> int:
    return int(of.get(name) or 0)


def blocks(of: dict[str, str], name: str) -> str:
    return counted(number(of, name), "block")


def amount(of: dict[str, str], when: str) -> str:
    """Bytes and blocks: at the peak, live at the end, or those that lived before the recording."""
    return f"{size(number(of, f'{when}_bytes'))}, {blocks(of, f'{when}_blocks')}"


def totals(summary: dict[str, Any]) -> str:
    """The whole trace in one line: what was recorded, what was lost, whether the order is proven."""
    parts = [process["summary"] for process in summary["processes"]]
    events = sum(process["events"] for process in summary["processes"])
    wrong = sum(number(part, "acquired_while_live") + number(part, "released_unknown") for part in parts)
    unseen = len({process.program for process in trace_coverage.sampled(summary) if process.unseen})
    return (
        f"{events} events of {counted(len(parts), 'process', 'processes')}, "
        f"{size(summary['bytes'])} ({summary['bytes'] / max(events, 1):.1f} B an event); "
        f"calls lost {lost(summary)}; events out of order {wrong}"
        + (f"; {counted(unseen, 'program')} not seen" if unseen else "")
    )


def lost(summary: dict[str, Any]) -> str:
    """How many calls the trace lacks: those not recorded, and those of damaged or missing frames.

    Where the end of a process is missing, no more is known than what the frames before it tell.
    """
    unrecorded = ("lost", "lost_elsewhere")
    known = sum(
        sum(number(process["summary"], what) for what in unrecorded) + process["lost_in_file"]
        for process in summary["processes"]
    )
    if all(process["summary"] for process in summary["processes"]):
        return str(known)
    return f"at least {known}" if known else "unknown"


def warnings(summary: dict[str, Any]) -> list[str]:
    """What the trace lacks of a complete recording."""
    sentences = [*filter(None, [architecture.note(summary["machine"])]), *summary["damage"]]
    for process in summary["processes"]:
        part, pid = process["summary"], process["process"].get("pid", "?")
        if lost := number(part, "lost_elsewhere"):
            sentences.append(
                f"{counted(lost, 'call')} of processes without a file were not recorded: "
                f"{part['lost_elsewhere_because']}"
            )
        if filtered := number(part, "filtered_processes"):
            sentences.append(
                f"{counted(filtered, 'process', 'processes')} were not recorded: under a filter of system "
                "calls (seccomp) that heaplab does not run under"
            )
        if lost := number(part, "lost"):
            sentences.append(f"process {pid}: {lost} calls were not recorded: {part['lost_because']}")
        if wrong := number(part, "acquired_while_live"):
            sentences.append(f"process {pid}: {wrong} acquisitions of blocks that live")
        if wrong := number(part, "released_unknown"):
            sentences.append(f"process {pid}: {wrong} releases of blocks that nothing acquired")
        if process["lost_in_file"]:
            sentences.append(f"process {pid}: {process['lost_in_file']} events are lost in the file")
    return sentences + beyond_malloc.sentences(trace_coverage.at_peaks(summary))


def of_process(process: dict[str, Any]) -> list[tuple[str, str]]:
    """Labels and texts about one process."""
    of, part = process["process"], process["summary"]
    words = [word for word in of.get("arguments", "").split("\0") if word]
    shown = " ".join([PurePath(of.get("program", "?")).name, *words[1:]])
    inherited = number(part, "released_inherited")
    rows = [
        (f"process {of.get('pid', '?')}", shown),
        ("allocator", of.get("allocator", "?")),
        ("events", f"{process['events']} by {counted(number(part, 'threads'), 'thread')}"),
        (
            "acquired",
            f"{size(number(part, 'bytes_acquired'))} in {blocks(part, 'acquisitions')} "
            f"from {counted(number(part, 'sites'), 'place')}; "
            f"{counted(number(part, 'failed'), 'call')} failed",
        ),
        ("released", blocks(part, "releases") + (f", {inherited} from before" if inherited else "")),
        ("at most", amount(part, "peak")),
        ("at the end", amount(part, "live")),
    ]
    if number(part, "lived_blocks"):
        rows.insert(2, ("lived before", amount(part, "lived")))
    if executed := number(part, "instructions"):
        calls = number(part, "acquisitions") + number(part, "releases")
        rows.append(("instructions", f"{executed:,}, {executed / max(calls, 1):.0f} for each call"))
    if uncounted := number(part, "uncounted_threads"):
        rows.append(("not counted", f"instructions of {counted(uncounted, 'thread')}, at least in part"))
    return rows if part else rows[:3]
