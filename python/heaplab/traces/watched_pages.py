"""What the blocks on watched pages leave unused: src/recorder/watched_pages.h."""

from typing import Any

import numpy as np

from heaplab.traces.sample_file import PinnedSum

Rows = np.ndarray[Any, Any]

FIRST_WATCHED, LAST_WATCHED, NO_SAMPLE = 1 << 63, 1 << 62, 1 << 61  # of `site`
BORN = NO_SAMPLE - 1  # the bits of `site` below


def pinned_of(
    addresses: Rows, sizes: Rows, marks: Rows, sites: Rows, page_bytes: int
) -> tuple[dict[int, PinnedSum], PinnedSum]:
    """By site, and of all together.

    A page's unused bytes are shared evenly by the sites of its blocks. An array holds a value for each live
    block; `marks` are their `site` fields, `sites` the numbers in these.
    """
    first = (marks & FIRST_WATCHED) != 0
    last = (marks & LAST_WATCHED) != 0
    first_pages, ends = addresses // page_bytes, addresses + sizes
    last_pages = (ends - 1) // page_bytes
    on_first = np.minimum(ends, (first_pages + 1) * page_bytes) - addresses
    on_last = ends - last_pages * page_bytes
    pages = np.concatenate([first_pages[first], last_pages[last]])
    used = np.concatenate([on_first[first], on_last[last]])
    at_sites = np.concatenate([sites[first], sites[last]])

    watched, place = np.unique(pages, return_inverse=True)
    unused = np.maximum(0.0, page_bytes - np.bincount(place, used.astype(float), len(watched)))
    pairs = np.unique(np.stack([place, at_sites.astype(place.dtype)], axis=1), axis=0)
    sharers = np.bincount(pairs[:, 0], minlength=len(watched))
    shares = unused[pairs[:, 0]] / sharers[pairs[:, 0]]
    numbers, of_pair = np.unique(pairs[:, 1], return_inverse=True)
    columns = (np.bincount(of_pair, weights, len(numbers)) for weights in (None, shares, shares**2))
    by_site = {
        int(number): PinnedSum(int(count), float(total), float(squares))
        for number, count, total, squares in zip(numbers, *columns, strict=True)
    }
    return by_site, PinnedSum(len(watched), float(unused.sum()), float((unused**2).sum()))
