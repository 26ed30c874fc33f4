"""What samples tell of a program's memory: call sites that grow or pin pages beyond doubt."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.markup import escape

from heaplab.advise.answer import SHARE, SMALLEST, Kind
from heaplab.advise.sentences import NAMED, size
from heaplab.screen.console import put
from heaplab.text import units
from heaplab.traces.estimates import Estimate
from heaplab.tracing import sample_terminal
from heaplab.tracing.sampled_callers import SampledChange, SampledMoment, changes

LABELS = 10  # columns
LEAST_FOR_SURE = 3  # snapshots: the growth is seen in both halves of the time


@dataclass(frozen=True)
class SampledAnswer:
    """The verdict of snapshots of one process, the first and the last of which are compared."""

    moments: Sequence[SampledMoment]
    grown: Sequence[SampledChange]  # by amounts worth a word, the largest first

    @property
    def last(self) -> SampledMoment:
        return self.moments[-1]

    @property
    def kind(self) -> Kind:
        if self.grown:
            return Kind.GROWING
        return Kind.PINNED if self.pinned else Kind.LIVE

    @property
    def bytes(self) -> float:
        if self.grown:
            return sum(change.by.value for change in self.grown)
        return (self.pinned or self.last.live).value

    @property
    def pinned(self) -> Estimate | None:
        """Unused bytes of pages that hold live blocks, if they were sampled and are worth a word."""
        pinned, live = self.last.pinned, self.last.live
        return pinned if pinned and pinned.low > max(SMALLEST, SHARE * (pinned.low + live.value)) else None

    @property
    def sure(self) -> bool:
        """Of growth: each half of the time has a part of it, by the call site that grew most."""
        if self.kind is Kind.PINNED:
            return True  # the whole interval is worth a word
        if not self.grown or len(self.moments) < LEAST_FOR_SURE:
            return False
        middle = self.moments[len(self.moments) // 2]
        halves = (changes(self.moments[0], middle), changes(middle, self.last))
        name = self.grown[0].name
        return all(any(each.name == name and each.by.low > 0 for each in half) for half in halves)

    @property
    def sentence(self) -> str:
        certainty = "sure" if self.sure else "likely"
        if self.kind is Kind.PINNED:
            return f"{self._pinning} ({certainty})"
        if not self.grown:
            held = f"live data: {self.last.live.text('B')} are blocks in use"
            return f"{held}, and no call site is shown to grow ({certainty})"
        seconds = self.last.snapshot.seconds - self.moments[0].snapshot.seconds
        names = " and ".join(
            f"{change.name}: {sample_terminal.signed(change.by)}" for change in self.grown[:NAMED]
        )
        more = len(self.grown) - NAMED
        others = f" and {units.counted(more, 'more call site')}" if more > 0 else ""
        within = f"{size(self.bytes)} more within {units.show(seconds, 's')}"
        return f"growing: {within}; {names}{others} ({certainty})"

    @property
    def _pinning(self) -> str:
        assert self.pinned
        callers = sorted(self.last.callers.values(), key=lambda caller: -caller.pinned.bytes)[:NAMED]
        worth = SHARE * sum(caller.pinned.bytes for caller in callers)
        names = " and ".join(caller.name for caller in callers if caller.pinned.bytes >= worth)
        unused = self.pinned.text("B")
        return f"pinned by few blocks: pages that hold live blocks leave {unused} unused; {names}"

    @property
    def also(self) -> list[str]:
        """What is true beside the verdict."""
        lines = [self._pinning] if self.grown and self.pinned else []
        process = self.last.process
        pinned = self.last.pinned.high if self.last.pinned else 0
        unexplained = process.resident - self.last.live.high - pinned
        if unexplained > max(SMALLEST, SHARE * process.resident):
            lines.append(
                f"retained or outside malloc: {size(unexplained)} at least of {size(process.resident)} "
                f"resident are no blocks in use; heaplab look --ask {process.pid} tells which"
            )
        if len(self.moments) == 1:
            lines.append("one snapshot tells no growth: take more by --every, or SIGUSR1 to heaplab record")
        return lines


def answer_of(moments: Sequence[SampledMoment]) -> SampledAnswer:
    grown = changes(moments[0], moments[-1]) if len(moments) > 1 else []
    worth = max(SMALLEST, SHARE * moments[-1].live.value)
    return SampledAnswer(moments, [each for each in grown if each.by.low > 0 and each.by.value >= worth])


def interval_of(estimate: Estimate) -> list[int]:
    return [round(estimate.low), round(estimate.value), round(estimate.high)]


def print_answer(answer: SampledAnswer, console: Console) -> None:
    put(console, f"[bold]{escape(answer.sentence)}[/]")
    for text in answer.also:
        put(console, escape(text), label="also", indent=LABELS)
    sample_terminal.print_tables(answer.moments, console)


def text_of(answer: SampledAnswer) -> str:
    live = answer.last.live
    fields: dict[str, Any] = {
        "verdict": answer.kind.value,
        "sure": answer.sure,
        "sentence": answer.sentence,
        "bytes": round(answer.bytes),
        "also": answer.also,
        "program": answer.last.profile.program,
        "live": interval_of(live),
        "pinned": interval_of(answer.last.pinned) if answer.last.pinned else None,
        "growth": [{"name": each.name, "bytes": interval_of(each.by)} for each in answer.grown[:NAMED]],
    }
    return json.dumps(fields, ensure_ascii=False)
