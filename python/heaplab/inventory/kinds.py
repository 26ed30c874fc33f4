"""One row for each item of a kind in the catalog."""

from typing import Any

import rich.markup

from heaplab.catalog import locate
from heaplab.catalog.contents import Catalog
from heaplab.errors import HeaplabError
from heaplab.screen.console import Column

PROSE = {"title", "summary", "source", "experiments", "publication", "claim"}


def columns_of(rows: list[dict[str, Any]]) -> list[Column]:
    heads = list(rows[0]) if rows else ["id"]
    return [
        Column(head, [rich.markup.escape(str(row[head])) for row in rows], prose=head in PROSE)
        for head in heads
    ]


def allocator_rows(catalog: Catalog) -> list[dict[str, Any]]:
    rows = []
    for name in catalog.allocator_names():
        allocator, variant = catalog.allocator(name)
        try:
            here = locate.found_here(catalog, name).version or "here"
        except HeaplabError as error:
            here = "-" if isinstance(error, locate.NotHereError) else f"unusable: {error}"
        summary = variant.title if variant else allocator.summary
        quick = "yes" if allocator.quick and variant is None else ""  # variants are measured only when named
        rows.append({"id": name, "here": here, "quick": quick, "summary": summary})
    return rows


def workload_rows(catalog: Catalog) -> list[dict[str, Any]]:
    from heaplab.catalog.workload_file import is_here  # here because other kinds read no workloads

    return [
        {
            "id": work.id,
            "here": "yes" if is_here(work) else "-",
            "title": work.title,
            "source": work.card.source,
        }
        for work in catalog.workloads.values()
    ]


def experiment_rows(catalog: Catalog) -> list[dict[str, Any]]:
    return [
        {
            "id": item.id,
            "workload": item.workload,
            "cells": f"{len(item.cells('quick'))}, full {len(item.cells('full'))}",
            "title": item.title,
        }
        for item in catalog.experiments.values()
    ]


def suite_rows(catalog: Catalog) -> list[dict[str, Any]]:
    return [
        {"id": suite.id, "title": suite.title, "experiments": " ".join(suite.experiments)}
        for suite in catalog.suites.values()
    ]


def claim_rows(catalog: Catalog) -> list[dict[str, Any]]:
    return [
        {"id": item.id, "publication": item.publication, "claim": expectation.sentence}
        for item in catalog.experiments.values()
        for expectation in item.expectations
    ]


KINDS = {
    "allocators": allocator_rows,
    "workloads": workload_rows,
    "experiments": experiment_rows,
    "suites": suite_rows,
    "claims": claim_rows,
}
