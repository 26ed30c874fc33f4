"""What `heaplab bisect` does: it finds the first commit of a range that is worse than OLD."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log2
from pathlib import Path
from typing import Any

import click
from rich.markup import escape

from heaplab.bisect.commit_gate import CommitGate, CommitTrial, refuse_uncounted
from heaplab.bisect.commit_search import State, search
from heaplab.bisect.history import CannotBuildError, Commit, CommitBuilds, Repository
from heaplab.bisect.work import Work
from heaplab.catalog import contents as catalogs
from heaplab.console import Column, console, put, put_table
from heaplab.errors import HeaplabError
from heaplab.gate.run_gate import COULD_NOT_TELL
from heaplab.options.given_options import GateOptions
from heaplab.screen.notes import note
from heaplab.stats import LEVEL
from heaplab.text import units

AGAINST_OLD, BEFORE, AFRESH = "to OLD", "before it", "to the one before"


@dataclass(frozen=True)
class Found:
    """The result of a bisection. A place is an index into `line`, where OLD is at place 0."""

    line: Sequence[Commit]
    tried: dict[int, CommitTrial]  # trials against OLD, by place
    good: int = 0  # place of the last commit known to be not worse
    bad: int = 0  # place of the first commit known to be worse; 0: not even NEW is
    afresh: CommitTrial | None = None  # the first worse commit, measured against the commit before it

    @property
    def is_exact(self) -> bool:
        return self.bad == self.good + 1

    @property
    def status(self) -> int:
        known = self.is_exact or (not self.bad and self.last.state is State.NOT_WORSE)
        return 0 if known else COULD_NOT_TELL

    @property
    def last(self) -> CommitTrial:
        return self.tried[len(self.line) - 1]

    @property
    def says(self) -> str:
        old, new = self.line[0].short, self.line[-1].short
        if not self.bad:
            if self.last.state is State.NOT_WORSE:
                return f"NOT WORSE: {new} is within the limits of {old}; there is nothing to find."
            return f"COULD NOT TELL whether {new} is worse than {old}: give a larger --budget."
        if self.is_exact:
            return f"FIRST WORSE: {described(self.line[self.bad])}"
        count = units.counted(self.bad - self.good, "commit")
        before, last = self.line[self.good].short, self.line[self.bad].short
        return f"BETWEEN {before} and {last}: the first that is worse is one of {count}."


def bisect(
    extra: tuple[Path, ...], place: Path, commits: str, build: str, work: Work, options: GateOptions
) -> int:
    """Search, print the result; return the exit status."""
    refuse_uncounted(work)
    repository = Repository(place)
    line = repository.line(commits)
    gate = CommitGate(catalogs.load(extra), work, CommitBuilds(repository, build), line[0], options)
    found = searched(line, gate, options)
    if options.as_json:
        click.echo(json.dumps(plain(found)))
    else:
        print_found(found)
        click.echo(f"\nresults: {gate.folder}")
    return found.status


def searched(line: Sequence[Commit], gate: CommitGate, options: GateOptions) -> Found:
    """Search the line of commits. Raises HeaplabError if OLD or NEW cannot be judged."""
    try:
        new = gate.trial(line[0], line[-1])
    except CannotBuildError as error:
        raise HeaplabError(f"{line[0].short}: {error}; there is nothing to compare with") from error
    if new.state is State.UNUSABLE:
        raise HeaplabError(f"{line[-1].short}: {new.why}; there is nothing to look for")
    tried = {len(line) - 1: new}
    if new.state is not State.WORSE:
        return Found(line, tried)

    def state_of(place: int) -> State:
        tried[place] = gate.trial(line[0], line[place], new.worse)
        if not options.quiet:
            note(f"{line[place].short}: {in_words(tried[place])}")
        return tried[place].state

    if not options.quiet:
        steps = units.counted(ceil(log2(len(line))), "step")
        note(f"{line[-1].short}: {in_words(new)}; {len(line) - 2} commits before it, at most about {steps}")
    good, bad = search(len(line) - 1, state_of)
    exact = bad == good + 1
    afresh = gate.trial(line[good], line[bad], new.worse, afresh=True) if exact else None
    return Found(line, tried, good, bad, afresh)


def in_words(trial: CommitTrial) -> str:
    ratios = [f"{cell['measure']} {ratio_of(cell)} ({bounds_of(cell)})" for cell in trial.cells[:1]]
    return ": ".join(filter(None, [trial.state, trial.why, *ratios]))


def described(commit: Commit) -> str:
    return f"{commit.short} {commit.subject} ({commit.author}, {commit.date})"


def print_found(found: Found) -> None:
    out = console()
    color = "yellow" if found.status else "green" if not found.bad else "red"
    put(out, f"[bold {color}]{escape(found.says)}[/]")
    if found.bad and not found.is_exact:
        for place in range(found.good + 1, found.bad + 1):
            trial = found.tried.get(place)
            said = in_words(trial) if trial else "not looked at"
            put(out, escape(f"{described(found.line[place])}: {said}"), indent=2)
    shown = found.tried[found.bad or len(found.line) - 1].cells
    columns = [
        Column("cell", [escape(name_of(cell)) for cell in shown]),
        Column("measure", [cell["measure"] for cell in shown]),
        *ratio_columns(AGAINST_OLD, shown),
    ]
    for head, other in ((BEFORE, found.tried.get(found.good)), (AFRESH, found.afresh)):
        if other and other.cells:
            by_key = {key_of(cell): cell for cell in other.cells}
            columns += ratio_columns(head, [by_key.get(key_of(cell), {}) for cell in shown])
    if shown:
        put_table(out, columns)
    if found.afresh and found.afresh.state is not State.WORSE:
        put(
            out,
            f"Measured afresh against the one before it, this commit is: {found.afresh.state}. The limit is "
            "crossed here, perhaps in small steps of several commits.",
        )


def ratio_columns(head: str, cells: Sequence[dict[str, Any]]) -> list[Column]:
    return [
        Column(head, [ratio_of(cell) for cell in cells], right=True),
        Column(LEVEL, [bounds_of(cell) for cell in cells]),
    ]


def key_of(cell: dict[str, Any]) -> str:
    return json.dumps([cell["experiment"], cell["cell"], cell["measure"]])


def name_of(cell: dict[str, Any]) -> str:
    values = ", ".join(f"{name} {units.parameter(value)}" for name, value in cell["cell"].items())
    return f"{cell['experiment']} {values}".strip()


def ratio_of(cell: dict[str, Any]) -> str:
    return units.ratio(cell["ratio"]) if cell.get("ratio") is not None else units.NOTHING


def bounds_of(cell: dict[str, Any]) -> str:
    known = cell.get("low") is not None and cell.get("high") is not None
    return f"{cell['low']:.2f}–{cell['high']:.2f}" if known else "no interval"


def plain(found: Found) -> dict[str, Any]:

    def told(place: int) -> dict[str, Any]:
        commit, trial = found.line[place], found.tried.get(place)
        return {
            "commit": commit.name,
            "subject": commit.subject,
            "author": commit.author,
            "date": commit.date,
            "state": str(trial.state) if trial else "",
            "why": trial.why if trial else "",
            "cells": trial.cells if trial else [],
        }

    return {
        "schema": 1,
        "says": found.says,
        "old": told(0),
        "new": told(len(found.line) - 1),
        "first_worse": told(found.bad) if found.is_exact else None,
        "last_not_worse": told(found.good) if found.bad else None,
        "between": [told(place) for place in range(found.good + 1, found.bad + 1)],
        "afresh": {"state": str(found.afresh.state), "cells": found.afresh.cells} if found.afresh else None,
        "tried": [told(place) for place in sorted(found.tried)],
    }
