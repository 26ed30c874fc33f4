"""What the catalog holds of an allocator, a workload, an experiment or a suite, as lines."""

import shutil
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import TypeAdapter

from heaplab.catalog import allocator_spec, locate
from heaplab.catalog.contents import Catalog
from heaplab.errors import HeaplabError
from heaplab.results import spec

WIDTH_MOST = 100  # columns: longer lines are hard to read
INDENT = 15  # columns of the names at the left

Row = tuple[str, str]  # a name and a text of any length; an empty name continues the row above
Shown = allocator_spec.Allocator | spec.Workload | spec.Experiment | spec.Suite
Found = tuple[str, Shown, Iterator[Row]]  # kind, thing, rows


def as_plain(things: Sequence[Found]) -> dict[str, Any]:
    return {kind: TypeAdapter(type(thing)).dump_python(thing, mode="json") for kind, thing, _ in things}


def as_text(name: str, things: Sequence[Found]) -> str:
    width = min(WIDTH_MOST, shutil.get_terminal_size((WIDTH_MOST, 24)).columns)
    pages = [[(kind, f"{name}: {thing.title}"), *rows] for kind, thing, rows in things]
    return "\n\n".join("\n".join(laid_out(page, width)) for page in pages)


def things(catalog: Catalog, name: str) -> Iterator[Found]:
    """Everything in the catalog with this name, each with its kind and its rows."""
    if name in catalog.allocator_names():
        allocator, _ = catalog.allocator(name)
        yield "allocator", allocator, allocator_rows(catalog, name, allocator)
    if work := catalog.workloads.get(name):
        yield "workload", work, workload_rows(catalog, work)
    if experiment := catalog.experiments.get(name):
        yield "experiment", experiment, experiment_rows(experiment)
    if suite := catalog.suites.get(name):
        yield "suite", suite, suite_rows(catalog, suite)


def allocator_rows(catalog: Catalog, name: str, thing: allocator_spec.Allocator) -> Iterator[Row]:
    _, variant = catalog.allocator(name)
    yield "", thing.summary
    if variant:
        yield "variant", variant.title
    try:
        library = locate.locate(catalog, name)
        path = ":".join(library.sha256) or "the C library's own malloc, nothing to preload"
        yield "here", f"{library.version} {path}".strip()
    except HeaplabError as error:
        yield "here", f"no: {error}"
    environment = thing.environment | (variant.environment if variant else {})
    for setting, value in environment.items():
        yield "run with", f"{setting}={value}"
    for worth in thing.settings:
        measured = f" It was measured to {worth.measured}." if worth.measured else ""
        yield "worth trying", f"{worth.name}: {worth.setting}: {worth.trades}{measured}"
    for other, own in ({} if variant else thing.variants).items():
        yield "variants", f"{thing.id}-{other}: {own.title}"
    yield "notes", thing.notes
    yield "licence", thing.licence
    yield "homepage", thing.homepage


def workload_rows(catalog: Catalog, thing: spec.Workload) -> Iterator[Row]:
    card = thing.card
    yield "source", card.source
    yield "shows", card.shows
    yield "does not show", card.does_not_show
    yield "defaults", card.defaults
    yield "known flaws", card.flaws
    if thing.server:
        yield "ready when", thing.server.ready
        yield "driven by", thing.server.load
        idle = ", ".join(f"{seconds:g} s" for seconds in thing.server.idle_s)
        yield "looked at", f"after each of {thing.server.bursts} bursts, and {idle} after the last"
    for metric, about in thing.metrics.items():
        better = "" if about.better == "neither" else f", {about.better} is better"
        yield "metrics", f"{metric}: {about.title} [{about.unit}]{better}"
    yield "verdicts on", thing.main_metric
    for experiment in catalog.experiments.values():
        if experiment.workload == thing.id:
            yield "experiments", experiment.id
    if thing.kind == "synthetic":
        yield "by itself", f"$(heaplab path {thing.program}) --help"


def experiment_rows(thing: spec.Experiment) -> Iterator[Row]:
    yield "publication", f"{thing.publication}, {thing.figure}".strip(", ")
    yield "claim", thing.claim
    yield "workload", thing.workload
    yield "metrics", ", ".join(thing.metrics)
    scales: dict[spec.ScaleName, spec.Scale] = {"quick": thing.quick, "full": thing.full}
    for name, scale in scales.items():
        swept = ", ".join(f"{axis} {' '.join(map(str, values))}" for axis, values in scale.sweep.items())
        yield f"{name} scale", f"cells: {len(thing.cells(name))}{f', sweeping {swept}' if swept else ''}"
    for expectation in thing.expectations:
        yield "tested claims", expectation.says
    yield "notes", thing.notes
    yield "measure it", f"heaplab compare --experiment {thing.id}"


def suite_rows(catalog: Catalog, thing: spec.Suite) -> Iterator[Row]:
    for experiment in catalog.experiments_matching(thing.experiments):
        yield "experiments", f"{experiment.id}: {experiment.title}"
    if thing.budget_s:
        yield "budget", f"{thing.budget_s:g} s of measuring"
    yield "measure it", f"heaplab compare --suite {thing.id}"


def laid_out(rows: list[Row], width: int) -> Iterator[str]:
    """The rows as lines: texts are wrapped in the second column, repeated names and empty rows left out."""
    before = ""
    for name, text in rows:
        column = max(20, width - INDENT)
        words = " ".join(text.split())
        for line in textwrap.wrap(words, column, break_on_hyphens=False, break_long_words=False):
            yield f"{'' if name == before else name:{INDENT}}{line}".rstrip()
            before = name
