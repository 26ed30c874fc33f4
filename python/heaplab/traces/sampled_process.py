"""What a sampled process has counted, read from its file while it goes on: src/trace/raw/raw_file.h.

The process writes meanwhile. Counts may belong to moments that lie some microseconds apart; blocks that
change while they are read are left out.
"""

import mmap
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from heaplab.traces.sample_file import PinnedSum, SampledSite, SampleSum
from heaplab.traces.watched_pages import BORN, NO_SAMPLE, pinned_of

Rows = np.ndarray[Any, Any]

MAGIC = 0x3277617270616568
SITES, BLOCKS = 0x45544953, 0x4556494C  # magic numbers of tables
HEADER_BYTES = UNIT = 16384
MOST_BYTES = 1 << 31  # of a file that is read: tables of 8 MiB of sites, and of fifty million live samples
SITE_BITS, PLACE_BITS = 20, 16
SITE_BYTES, BUCKET_BYTES, BLOCKS_OF_BUCKET = 384, 128, 5
ADDRESS = (1 << 48) - 1
BEING_WRITTEN = 1  # a key or an address that is no more than this is none
LIVES = 16  # classes of lifetimes: below 4 ms, 16 ms, 64 ms ...
FRAMES = 33
MOMENT = np.dtype([(name, "<u8") for name in ("stamp", "monotonic_ns", "unix_ns", "cpu_ns")])
HEADER = np.dtype(  # ends before the padding of HEADER_BYTES
    [
        *(("magic", "<u8"), ("stamps", "<u4"), ("pid", "<u4"), ("parent_pid", "<u4"), ("forked", "<u4")),
        *(("begin", MOMENT), ("latest", MOMENT), ("ended", "<u4"), ("threads", "<u4")),
        *((name, "<u8") for name in ("bytes", "instructions", "uncounted_threads", "aligned")),
        *(("lost", "<u8", (16, 8)), ("error", "<u4")),
        *(("allocator", "S1024"), ("program", "S4096"), ("executable", "S4096"), ("arguments", "S5632")),
    ]
)
CHUNK = np.dtype([("magic", "<u4"), ("bytes", "<u4"), ("offset", "<u8"), ("next", "<u4")])
SITE = np.dtype(
    [
        *(
            (name, "<u8")
            for name in ("key", "samples", "bytes", "blocks", "bytes_variance", "blocks_variance")
        ),
        ("lives", "<u4", LIVES),
        ("frames", "<u8"),
        ("addresses", "<u8", FRAMES),
    ]
)
BLOCK = np.dtype([("what", "<u8"), ("size", "<u8"), ("site", "<u8")])
BUCKET = np.dtype([("blocks", BLOCK, BLOCKS_OF_BUCKET), ("unused", "<u8")])


@dataclass(frozen=True)
class RawSample:
    """The content of the file of a process."""

    pid: int
    parent_pid: int
    begin_ns: int  # CLOCK_MONOTONIC
    lost: int  # blocks that were to be sampled, and are missing
    allocator: str
    program: str
    executable: str
    arguments: str
    sites: list[SampledSite]
    pinned: PinnedSum | None  # None: a child of fork, which watches no pages


class RawTables(NamedTuple):
    sites: dict[int, Rows]  # by number: a row of SITE
    blocks: Rows  # live samples, and blocks on watched pages


def read(path: Path, mean: int, now_ms: int) -> RawSample | None:
    """What the file holds; None if the process has only begun to make it. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        content = os.pread(descriptor, HEADER_BYTES, 0)
        if len(content) < HEADER_BYTES:
            return None
        head = np.frombuffer(content, HEADER, 1)[0]
        if head["magic"] != MAGIC:
            return None
        whole = min(int(head["bytes"]), MOST_BYTES)
        earlier, later = (tables_of(os.pread(descriptor, whole, 0)) for _ in range(2))
    finally:
        os.close(descriptor)
    blocks = later.blocks
    if len(earlier.blocks) <= len(blocks):  # rows added in between were read once: left out
        stable = earlier.blocks == blocks[: len(earlier.blocks)]
        blocks = blocks[: len(earlier.blocks)][stable]
    texts = {
        name: bytes(head[name]).decode(errors="replace") for name in ("allocator", "program", "executable")
    }
    sites, pinned = sites_of(later.sites, blocks, mean, now_ms)
    return RawSample(
        pid=int(head["pid"]),
        parent_pid=int(head["parent_pid"]),
        begin_ns=int(head["begin"]["monotonic_ns"]),
        lost=int(head["lost"].sum()),
        arguments=bytes(head["arguments"]).decode(errors="replace"),
        sites=sites,
        pinned=None if head["forked"] else pinned,
        **texts,
    )


def tables_of(content: bytes) -> RawTables:
    """The tables in a file. What is no table, such as a hole, is passed over."""
    sites: dict[int, Rows] = {}
    blocks = [np.empty(0, BLOCK)]
    at = HEADER_BYTES
    while at + CHUNK.itemsize <= len(content):
        chunk = np.frombuffer(content, CHUNK, 1, at)[0]
        end = min(at + int(chunk["bytes"]), len(content))
        if chunk["magic"] == SITES:
            rows = np.frombuffer(content, SITE, max(0, (end - at) // SITE_BYTES - 1), at + SITE_BYTES)
            level = int(chunk["next"]) << PLACE_BITS
            sites |= {
                level + int(place): rows[place] for place in np.flatnonzero(rows["key"] > BEING_WRITTEN)
            }
        elif chunk["magic"] == BLOCKS:
            buckets = np.frombuffer(
                content, BUCKET, max(0, (end - at) // BUCKET_BYTES - 1), at + BUCKET_BYTES
            )
            blocks.append(buckets["blocks"].reshape(-1))
        is_table = chunk["magic"] in (SITES, BLOCKS) and end > at
        at = end if is_table else at + UNIT
    return RawTables(sites, np.concatenate(blocks))


def sites_of(
    sites: dict[int, Rows], blocks: Rows, mean: int, now_ms: int
) -> tuple[list[SampledSite], PinnedSum]:
    """The sites, each stack once, the most allocated bytes first; and what all watched pages leave unused."""
    blocks = blocks[(blocks["what"] & ADDRESS) > BEING_WRITTEN]
    numbers = (blocks["site"] & ((1 << SITE_BITS) - 1)).astype(np.int64)
    pinned, together = pinned_of(
        (blocks["what"] & ADDRESS).astype(np.int64),
        blocks["size"].astype(np.int64),
        blocks["site"],
        numbers,
        mmap.PAGESIZE,
    )
    are_samples = (blocks["site"] & NO_SAMPLE) == 0
    blocks, numbers = blocks[are_samples], numbers[are_samples]
    order = np.argsort(numbers, kind="stable")
    blocks, numbers = blocks[order], numbers[order]
    by_stack: dict[tuple[int, ...], SampledSite] = {}
    for number, row in sites.items():
        stack = tuple(int(each) for each in row["addresses"][: min(int(row["frames"]), FRAMES)])
        first, last = np.searchsorted(numbers, [number, number + 1])
        here = blocks[first:last]
        site = SampledSite(
            stack=stack,
            acquired=acquired(row, mean),
            live=live(here["size"], mean),
            lives=tuple(int(count) for count in row["lives"]),
            ages=ages((here["site"] & BORN) >> SITE_BITS, now_ms),
            pinned=pinned.get(number, PinnedSum()),
        )
        by_stack[stack] = by_stack[stack].plus(site) if stack in by_stack else site
    known = [site for site in by_stack.values() if site.acquired.samples or site.pinned.pages]
    return sorted(known, key=lambda site: -site.acquired.bytes), together


def acquired(row: Rows, mean: int) -> SampleSum:
    return SampleSum(
        samples=int(row["samples"]),
        bytes=float(row["bytes"]),
        blocks=float(row["blocks"]) / (1 << 8),
        bytes_variance=float(row["bytes_variance"]) / (1 << 20) * mean**2,
        blocks_variance=float(row["blocks_variance"]) / (1 << 40) * mean**2,
    )


def live(sizes: Rows, mean: int) -> SampleSum:
    """The estimates of src/recorder/poisson_sampling.h from the sizes of live samples."""
    size = sizes.astype(float)
    p = -np.expm1(-(size + 1) / mean)
    variance = (1 - p) / p**2
    return SampleSum(
        samples=len(size),
        bytes=float((size / p).sum()),
        blocks=float((1 / p).sum()),
        bytes_variance=float((variance * size**2).sum()),
        blocks_variance=float(variance.sum()),
    )


def ages(born_ms: Rows, now_ms: int) -> tuple[int, ...]:
    """Live samples by age, in the classes of lifetimes."""
    age = np.maximum(0, now_ms - born_ms.astype(np.int64))
    bounds = 4.0 ** np.arange(1, LIVES)
    counts = np.bincount(np.searchsorted(bounds, age, side="right"), minlength=LIVES)
    return tuple(int(count) for count in counts)
