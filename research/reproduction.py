#!/usr/bin/env python3
"""Write docs/reproduction.md: figure by figure of the publications, what holds.

The verdicts lie in research/reproduction.json.xz. Each of RESULTS replaces the verdicts and the pictures of
the experiments it measured, unless it was broken off; all others keep theirs, with their dates. Without
RESULTS the page is written again from what lies there. The simulator's curves beside scalloc's figures come
from research/coherence.csv.xz each time (coherence_curves.py).
Example: research/reproduction.py out/publications/*/*/results.jsonl
"""

import lzma
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

import coherence_curves
import site_pictures
from command_line import parser_of
from heaplab.analysis import Analysis
from heaplab.catalog import contents as catalogs
from heaplab.catalog.contents import Catalog
from heaplab.errors import UsageError, fault_of, naming
from heaplab.report.page import reproduced, reproduction_page, reproduction_pictures
from heaplab.report.page.reproduced import Reproduced
from heaplab.results import store

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/reproduction.md"
VERDICTS = ROOT / "research/reproduction.json.xz"
KNOWN: TypeAdapter[list[Reproduced]] = TypeAdapter(list[Reproduced])
HOW = """\
`research/reproduction.py` writes this page from the catalog and from results. What was carried out to the end
on other days, in words: [ACDC](acdc-assessment.md), [llheap](llheap-assessment.md),
[local allocators](local-allocators-published.md), [scalloc](scalloc-performance.md).
The catalog `more` of some commands has the quick scale with other numbers of threads: see
`research/more_threads.py`. For more threads than processors, the pages of scalloc's figures 6 to 10, 13 and
14 end with curves of the [coherence simulator](scalloc-coherence.md): what up to 256 threads cost each
other."""


def load(path: Path) -> list[Reproduced]:
    """Raises UsageError for a file that was not written by `write`."""
    try:
        with naming(path):
            content = lzma.decompress(path.read_bytes())
    except lzma.LZMAError as error:
        raise UsageError(f"{path}: is not packed by xz") from error
    try:
        return KNOWN.validate_json(content)
    except ValidationError as error:
        raise UsageError(f"{path}: {fault_of(error, 'the file')}") from error


def write(known: Sequence[Reproduced], path: Path) -> None:
    ordered: list[Any] = sorted(known, key=lambda entry: entry.experiment)
    path.write_bytes(
        lzma.compress(KNOWN.dump_json(ordered, indent=1) + b"\n", preset=9 | lzma.PRESET_EXTREME)
    )


def catalog_here() -> Catalog:
    return catalogs.load((ROOT / "catalog",))


def page_of(known: list[Reproduced]) -> str:
    catalog = catalog_here()
    return reproduction_page.page(
        list(catalog.publications.values()), catalog.experiments, known, HOW, "reproduction"
    )


def pictures() -> dict[str, str]:
    """All that the site alone shows, by the names of their files."""
    return site_pictures.packed() | coherence_curves.pictures(load(VERDICTS))


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("results", nargs="*", type=Path, metavar="RESULTS")
    known = {experiment.experiment: experiment for experiment in load(VERDICTS)} if VERDICTS.exists() else {}
    for path in parser.parse_args().results:
        results = store.load(path)
        if results.end is None:
            print(f"{path}: broken off; what is known of its experiments is kept", file=sys.stderr)
            continue
        analysis = Analysis(results)
        known |= {experiment.experiment: experiment for experiment in reproduced.reproduced(analysis)}
        reproduction_pictures.write(analysis, PAGE.with_suffix(""), catalog_here().published)
    coherence_curves.write(PAGE.with_suffix(""))
    site_pictures.pack(PAGE.with_suffix(""))
    write(list(known.values()), VERDICTS)
    PAGE.write_text(page_of(list(known.values())))


if __name__ == "__main__":
    main()
