"""What a bisection found: commits, what each explains of the difference, and the same as JSON."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import log
from typing import Any

from heaplab.bisect.commit_gate import CommitTrial
from heaplab.bisect.commit_search import State, Stretch
from heaplab.bisect.history import Commit
from heaplab.gate.run_gate import COULD_NOT_TELL
from heaplab.text import units

Cell = dict[str, Any]  # as CommitTrial has it


@dataclass(frozen=True)
class WorseStep:
    """A stretch of the line that ends worse than it begins; of two neighbours, a commit."""

    good: int  # place of the last commit before it
    bad: int
    trial: CommitTrial | None  # its end against its beginning: afresh for a commit

    @property
    def is_exact(self) -> bool:
        return self.bad == self.good + 1

    @property
    def is_told(self) -> bool:
        return self.is_exact and self.trial is not None and self.trial.state is State.WORSE


@dataclass(frozen=True)
class Found:
    """The result of a bisection. A place is an index into `line`, where OLD is at place 0."""

    line: Sequence[Commit]
    tried: dict[Stretch, CommitTrial]  # by the places of base and commit
    steps: Sequence[WorseStep] = ()  # the first that is worse; or every one, of a search for all
    every: bool = False  # whether all were searched for
    untold: Sequence[Stretch] = field(default=())  # stretches that the machine could not judge

    @property
    def last(self) -> CommitTrial:
        """NEW against OLD."""
        return self.tried[0, len(self.line) - 1]

    @property
    def told(self) -> list[WorseStep]:
        """The steps that are worse by themselves, measured afresh."""
        return [step for step in self.steps if step.is_told]

    @property
    def status(self) -> int:
        if self.last.state is not State.WORSE:
            return 0 if self.last.state is State.NOT_WORSE else COULD_NOT_TELL
        return 0 if not self.untold and all(step.is_exact for step in self.steps) else COULD_NOT_TELL

    @property
    def says(self) -> str:
        old, new = self.line[0].short, self.line[-1].short
        if self.last.state is State.NOT_WORSE:
            return f"NOT WORSE: {new} is within the limits of {old}; there is nothing to find."
        if self.last.state is not State.WORSE:
            return f"COULD NOT TELL whether {new} is worse than {old}: give a larger --budget."
        if self.every:
            count = units.counted(len(self.line) - 1, "commit")
            return f"WORSE THAN THE ONE BEFORE: {len(self.told)} of {count}"
        step = self.steps[0]
        if step.is_exact:
            return f"FIRST WORSE: {described(self.line[step.bad])}"
        count = units.counted(step.bad - step.good, "commit")
        before, last = self.line[step.good].short, self.line[step.bad].short
        return f"BETWEEN {before} and {last}: the first that is worse is one of {count}."

    def share(self, step: WorseStep, cell: Cell) -> float | None:
        """The part of NEW's difference in a cell that a step explains, in logarithms; None if unknown."""
        own, whole = ratio_in(step.trial, cell), ratio_in(self.last, cell)
        return log(own) / log(whole) if own and whole and whole != 1 else None


def ratio_in(trial: CommitTrial | None, cell: Cell) -> float | None:
    """The ratio of a trial in the cell of another; None if it has none."""
    own = cell_in(trial, cell)
    return own["ratio"] if own and own.get("ratio") else None


def cell_in(trial: CommitTrial | None, cell: Cell) -> Cell:
    return next((own for own in (trial.cells if trial else []) if key_of(own) == key_of(cell)), {})


def key_of(cell: Cell) -> str:
    return json.dumps([cell["experiment"], cell["cell"], cell["measure"]])


def described(commit: Commit) -> str:
    return f"{commit.short} {commit.subject} ({commit.author}, {commit.date})"


def plain(result: Found) -> dict[str, Any]:
    """The result as JSON has it."""

    def told(stretch: Stretch) -> dict[str, Any]:
        commit, trial = result.line[stretch[1]], result.tried.get(stretch)
        return {
            "commit": commit.name,
            "subject": commit.subject,
            "author": commit.author,
            "date": commit.date,
            "state": str(trial.state) if trial else "",
            "why": trial.why if trial else "",
            "cells": trial.cells if trial else [],
        }

    def explained(step: WorseStep) -> dict[str, Any]:
        cells = step.trial.cells if step.trial else []
        return {
            "after": result.line[step.good].name,
            "commits": [told((0, place)) for place in range(step.good + 1, step.bad + 1)],
            "state": str(step.trial.state) if step.trial else "",
            "cells": [cell | {"share": result.share(step, cell)} for cell in cells],
        }

    first = result.steps[0] if result.steps and not result.every else None
    return {
        "schema": 1,
        "says": result.says,
        "old": told((0, 0)),
        "new": told((0, len(result.line) - 1)),
        "first_worse": told((0, first.bad)) if first and first.is_exact else None,
        "last_not_worse": told((0, first.good)) if first else None,
        "steps": [explained(step) for step in result.steps],
        "untold": [[result.line[good].name, result.line[bad].name] for good, bad in result.untold],
        "tried": [{"base": result.line[at[0]].name, **told(at)} for at in sorted(result.tried)],
    }
