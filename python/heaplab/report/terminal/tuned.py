"""The result of tuning: the confirmed settings, and by which measure each is best, ready to paste."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from rich.console import Console
from rich.markup import escape

from heaplab.analysis import Analysis
from heaplab.report.words import beyond_malloc, wording
from heaplab.report.words.advice import answer
from heaplab.report.words.next_steps import start_command
from heaplab.results.records import Arm
from heaplab.results.server_spec import idle_memory
from heaplab.screen.console import put, put_command
from heaplab.stats import Verdict

INDENT = 2
SETTINGS = {"preload", "environment", "huge_pages"}  # of an arm


@dataclass(frozen=True)
class Tuned:
    """The tried settings by name, as a user types them, and why some of them gave no figure."""

    allocator: str
    tried: dict[str, str] = field(default_factory=dict)
    void: dict[str, str] = field(default_factory=dict)

    @property
    def note(self) -> str:
        """A note that a reader of the confirmation must know."""
        said = (
            f"heaplab tune chose these among {len(self.tried)} settings of {self.allocator} and combinations "
            "of them, then measured them afresh. All figures are from this confirmation."
        )
        lost = "; ".join(f"{name}: {reason}" for name, reason in self.void.items())
        return f"{said} Without a figure: {lost}." if lost else said


def print_tuned(analysis: Analysis, console: Console) -> None:
    """The settings that the confirmation shows to be better in something, ready to paste."""
    names = confirmed(analysis)
    console.print()
    if unsure := not_sure(analysis):
        put(console, f"[bold]{escape(unsure)}[/]")
    if not names:
        none = "the confirmation shows no setting to be better"
        put(console, f"[bold]Stay with {escape(analysis.baseline)} as it is: {none}.[/]")
        return
    put(console, "[bold]The settings, to be pasted before the program[/]")
    best = best_of(analysis)
    for name in names:
        roles = [role for role, names in best.items() if name in names]
        put(console, escape(f"{name}{f': {wording.listed(roles)}' if roles else ''}"), indent=0)
        put_command(console, paste_line(analysis, name), INDENT)


def plain_tuned(tuned: Tuned, analysis: Analysis | None) -> dict[str, Any]:
    """The complete result, for --json; without an analysis nothing was confirmed."""
    names = confirmed(analysis) if analysis else []
    return {
        "allocator": tuned.allocator,
        "tried": tuned.tried,
        "void": tuned.void,
        "not_sure": not_sure(analysis) if analysis else "",
        "best": best_of(analysis) if analysis else {},
        "confirmed": {name: analysis.results.libraries[name].model_dump(include=SETTINGS) for name in names}
        if analysis
        else {},
    }


def not_sure(analysis: Analysis) -> str:
    """Why no setting can be sure to matter, in a sentence; "" if malloc explains enough of the memory."""
    pilot = analysis.campaign.pilot
    return beyond_malloc.not_sure(pilot.coverage) if pilot else ""


def confirmed(analysis: Analysis) -> list[str]:
    """The arms shown to be better than the baseline in time, memory, both together, or after idling."""
    names = {
        summary.allocator
        for kind in wording.KINDS
        for summary in analysis.summaries(kind)
        if Verdict.LOWER in (summary.time.verdict, summary.memory.verdict, summary.cost.verdict)
    }
    for study in analysis.between_allocators:
        if server := study.workload.server:
            idle = study.judged(idle_memory(server.idle_s[-1]))
            names |= {name for (_, name), judged in idle.items() if judged.verdict is Verdict.LOWER}
    return [name for name in analysis.allocators if name in names]


def best_of(analysis: Analysis) -> dict[str, list[str]]:
    """By measure: the arms that cannot be told apart from the best; empty if all are alike."""
    best: dict[str, list[str]] = {}
    for kind in wording.KINDS:
        if analysis.summarised(kind):
            leaders = answer(analysis, kind, analysis.summaries(kind)).leaders
            best |= {leader.title.lower(): leader.names for leader in leaders if not leader.open}
            best |= {"on the front of time and memory": front} if (front := front_of(analysis, kind)) else {}
    return best


def front_of(analysis: Analysis, kind: str) -> list[str]:
    """The arms on the Pareto front of time and memory, according to their estimates."""
    points = {analysis.baseline: (1.0, 1.0)} | {
        summary.allocator: (summary.time.ratio.estimate, summary.memory.ratio.estimate)
        for summary in analysis.summaries(kind)
        if summary.complete
    }
    known = {name: point for name, point in points.items() if all(map(isfinite, point))}
    return wording.front(known) if len(known) > 1 else []


def paste_line(analysis: Analysis, name: str) -> str:
    """The variables that put a program under an arm, or heaplab's command if variables do not suffice."""
    arm = analysis.results.libraries[name]
    return start_command(analysis, name) if arm.huge_pages else " ".join(variables(arm))


def variables(arm: Arm) -> Iterator[str]:
    """NAME=VALUE, quoted for a shell if necessary."""
    preload = {"LD_PRELOAD": ":".join(arm.preload)} if arm.preload else {}
    for name, value in (preload | arm.environment).items():
        yield f"{name}={shlex.quote(value)}"
