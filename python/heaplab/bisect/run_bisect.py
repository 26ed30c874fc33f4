"""What `heaplab bisect` does: it finds the first commit of a range that is worse than OLD, or every one."""

import json
from collections.abc import Sequence
from math import ceil, log2
from pathlib import Path

import click
from rich.markup import escape

from heaplab.bisect.commit_gate import CommitGate, CommitTrial, refuse_uncounted
from heaplab.bisect.commit_search import State, Stretch, search, search_all
from heaplab.bisect.found_commits import Cell, Found, WorseStep, cell_in, described, plain
from heaplab.bisect.history import CannotBuildError, Commit, CommitBuilds, Repository
from heaplab.bisect.work import Work
from heaplab.catalog import contents as catalogs
from heaplab.errors import HeaplabError
from heaplab.options.given_options import GateOptions
from heaplab.screen.console import Column, console, put, put_table
from heaplab.screen.notes import note
from heaplab.stats import LEVEL
from heaplab.text import units

MOSTLY = 0.9  # the share of a difference from which on the rest is not worth a search


def bisect(
    extra: tuple[Path, ...],
    place: Path,
    commits: str,
    build: str,
    work: Work,
    options: GateOptions,
    *,
    every: bool = False,
) -> int:
    """Search, print the result; return the exit status."""
    refuse_uncounted(work)
    repository = Repository(place)
    line = repository.line(commits)
    gate = CommitGate(catalogs.load(extra), work, CommitBuilds(repository, build), line[0], options)
    result = Search(line, gate, quiet=options.quiet).found(every=every)
    if options.as_json:
        click.echo(json.dumps(plain(result)))
    else:
        print_found(result)
        click.echo(f"\nresults: {gate.folder}")
    return result.status


class Search:
    """A bisection of a line of commits."""

    def __init__(self, line: Sequence[Commit], gate: CommitGate, *, quiet: bool) -> None:
        self._line, self._gate, self._quiet = line, gate, quiet
        self._last = len(line) - 1
        self._tried: dict[Stretch, CommitTrial] = {}

    def found(self, *, every: bool) -> Found:
        """Raises HeaplabError if OLD or NEW cannot be judged."""
        new = self._ends()
        if new.state is not State.WORSE:
            return Found(self._line, self._tried)
        if not self._quiet:
            most = "" if every else f", at most about {units.counted(ceil(log2(self._last + 1)), 'step')}"
            said = f"{in_words(new)}; {self._last - 1} commits before it{most}"
            note(f"{self._line[-1].short}: {said}")
        if every:
            stretches = search_all(self._last, self._state_of)
            steps = [self._step(*stretch) for stretch in stretches.worse]
            return Found(self._line, self._tried, steps, every=True, untold=stretches.untold)
        good, bad = search(self._last, lambda place: self._state_of(0, place))
        return Found(self._line, self._tried, [self._step(good, bad)])

    def _ends(self) -> CommitTrial:
        """The trial of NEW against OLD."""
        line = self._line
        try:
            new = self._gate.trial(line[0], line[-1])
        except CannotBuildError as error:
            raise HeaplabError(f"{line[0].short}: {error}; there is nothing to compare with") from error
        if new.state is State.UNUSABLE:
            raise HeaplabError(f"{line[-1].short}: {new.why}; there is nothing to look for")
        self._tried[0, self._last] = new
        return new

    def _state_of(self, good: int, bad: int) -> State:
        """The state of one commit against another, in what is worse in NEW."""
        base, commit, concerned = self._line[good], self._line[bad], self._tried[0, self._last].worse
        trial = self._tried[good, bad] = self._gate.trial(base, commit, concerned)
        if not self._quiet:
            note(f"{commit.short}{f' after {base.short}' if good else ''}: {in_words(trial)}")
        return trial.state

    def _step(self, good: int, bad: int) -> WorseStep:
        """A stretch that was found; a commit is measured afresh, since what chose it does not confirm it."""
        if bad != good + 1:
            return WorseStep(good, bad, self._tried.get((good, bad)))
        ends = self._line[good], self._line[bad]
        concerned = self._tried[0, self._last].worse
        return WorseStep(good, bad, self._gate.trial(*ends, concerned, afresh=True))


def in_words(trial: CommitTrial) -> str:
    ratios = [f"{cell['measure']} {ratio_of(cell)} ({bounds_of(cell)})" for cell in trial.cells[:1]]
    return ": ".join(filter(None, [trial.state, trial.why, *ratios]))


def print_found(result: Found) -> None:
    out = console()
    color = "yellow" if result.status else "red" if result.steps else "green"
    put(out, f"[bold {color}]{escape(result.says)}[/]")
    for step in result.steps:
        if not step.is_exact:
            print_range(result, step)
    cells = result.last.cells
    if result.steps:
        cells = [cell for cell in cells if cell["verdict"] == State.WORSE]
        print_shares(result, cells)
    elif cells:
        columns = [Column("measure", [measure_of(cell) for cell in cells]), *ratios("to OLD", cells)]
        put_table(out, columns)
    for good, bad in result.untold:
        put(
            out, f"could not tell from {result.line[good].short} to {result.line[bad].short}: not looked into"
        )
    if result.steps:
        put(out, escape(explained(result, cells[0])))


def print_range(result: Found, step: WorseStep) -> None:
    """The commits of which one is worse, each as it was tried."""
    for place in range(step.good + 1, step.bad + 1):
        trials = [trial for (_, tried), trial in sorted(result.tried.items()) if tried == place]
        said = in_words(trials[0]) if trials else "not looked at"
        put(console(), escape(f"{described(result.line[place])}: {said}"), indent=2)


def print_shares(result: Found, cells: Sequence[Cell]) -> None:
    """For each measure that is worse in NEW, what each step makes of it and what is left."""
    rows: list[tuple[str, Cell, Cell, float | None]] = []
    for cell in cells:
        for step in result.steps:
            rows.append((name_of(result, step), cell, cell_in(step.trial, cell), result.share(step, cell)))
        rows.append(("NEW to OLD", cell, cell, 1.0))
    columns = [
        Column("commit", [escape(name) for name, *_ in rows]),
        Column("measure", [measure_of(cell) for _, cell, *_ in rows]),
        *ratios("to the one before", [own for _, _, own, _ in rows]),
        Column("share", [percent(share) for *_, share in rows], right=True),
    ]
    put_table(console(), columns)


def explained(result: Found, cell: Cell) -> str:
    """How much of NEW's difference in a cell the found commits explain, and where the rest may be."""
    steps = result.told if result.every else [step for step in result.steps if step.is_exact]
    if not steps:
        return "No commit is by itself above the limit." if result.every else ""
    known = sum(result.share(step, cell) or 0.0 for step in steps)
    these = "This commit explains" if len(steps) == 1 else f"These {len(steps)} commits explain"
    said = f"{these} {percent(known)} of the {ratio_of(cell)} that NEW takes in {measure_of(cell)}."
    if not result.told:
        said += " Measured afresh it is within the limit, which small steps cross together."
    return said if result.every or known >= MOSTLY else f"{said} --all finds every commit above the limit."


def name_of(result: Found, step: WorseStep) -> str:
    commit = result.line[step.bad]
    return f"{commit.short} {commit.subject}" if step.is_exact else f"up to {commit.short}"


def ratios(head: str, cells: Sequence[Cell]) -> list[Column]:
    return [
        Column(head, [ratio_of(cell) for cell in cells], right=True),
        Column(LEVEL, [bounds_of(cell) for cell in cells]),
    ]


def measure_of(cell: Cell) -> str:
    values = ", ".join(f"{name} {units.parameter(value)}" for name, value in cell["cell"].items())
    return f"{cell['measure']} of {cell['experiment']} {values}".strip()


def percent(share: float | None) -> str:
    return units.NOTHING if share is None else units.percent(share)


def ratio_of(cell: Cell) -> str:
    return units.ratio(cell["ratio"]) if cell.get("ratio") is not None else units.NOTHING


def bounds_of(cell: Cell) -> str:
    known = cell.get("low") is not None and cell.get("high") is not None
    return f"{cell['low']:.2f}–{cell['high']:.2f}" if known else "no interval"
