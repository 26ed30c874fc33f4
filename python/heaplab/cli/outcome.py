"""What a campaign came to, on the terminal and as a page."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from heaplab import plan, store
from heaplab.records import Run, Status


def tell(path: Path, *, quiet: bool, as_json: bool) -> int:
    """Print what came out; return the exit status: 1 if a run gave no figure."""
    results = store.load(path)
    bad = without_figure(results.runs)
    counts = Counter(run.status.value for run in results.runs)
    if as_json:
        click.echo(json.dumps({"results": str(path), "runs": counts, "complete": results.end is not None}))
    else:
        for line in reasons(bad):
            click.echo(line)
        if not quiet:
            click.echo(f"{len(results.runs)} runs: {path}")
    return 1 if bad else 0


def without_figure(runs: Sequence[Run]) -> list[Run]:
    """The last attempt of every planned run, where it ended without a figure."""
    last = {(plan.run_key(run), run.block, run.allocator): run for run in runs}
    return [run for run in last.values() if run.status is not Status.OK]


def reasons(bad: Sequence[Run]) -> list[str]:
    """One line for each allocator and reason."""
    seen = Counter((run.allocator, run.status, run.reason) for run in bad)
    return [
        f"{allocator}: {status.value}, {reason} ({count} runs)"
        for (allocator, status, reason), count in seen.items()
    ]
