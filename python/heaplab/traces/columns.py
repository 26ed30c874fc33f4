"""A trace as Parquet: a row for each event, or for each block from birth to death."""

import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import IO, Any

import numpy as np

from heaplab.errors import HeaplabError
from heaplab.files.output import replacing
from heaplab.traces import tool
from heaplab.traces.profile import KINDS, places_of

# The records of src/trace/profile/rows.h.
EVENT = np.dtype(
    [
        *((name, "<u8") for name in ("number", "stamp", "address", "size")),
        *((name, "<u4") for name in ("process", "thread", "site")),
        *((name, "u1") for name in ("kind", "alignment_log2")),
        ("unused", "<u2"),
    ]
)
BLOCK = np.dtype(
    [
        *((name, "<u8") for name in ("acquired", "released", "address", "size")),
        *(
            (name, "<u4")
            for name in ("process", "thread", "site", "releasing_thread", "releasing_site", "growths")
        ),
        *((name, "u1") for name in ("kind", "releasing_kind", "alignment_log2")),
        ("unused", "V5"),
    ]
)
RECORDS = {"events": EVENT, "blocks": BLOCK}
COLUMNS = {
    "events": {
        "process": "number of the process in the trace, from 0; its properties are in the file's metadata",
        "number": "of the event within its process, from 0",
        "time": "seconds since the recording of the process began; null where stamps are only an order",
        "stamp": "ticks",
        "thread": "number of the thread within its process, from 1",
        "kind": "the call, or the turn in a thread's life",
        "address": "of the block, or the thread that the event is about",
        "size": "bytes asked for, or named by the release",
        "alignment": "bytes asked for; 0: none",
        "site": "number of the call site within its process, from 1; 0: unknown",
        "caller": "function of the call site, with its file",
    },
    "blocks": {
        "process": "number of the process in the trace, from 0; its properties are in the file's metadata",
        "address": "",
        "size": "bytes asked for",
        "alignment": "bytes asked for; 0: none",
        "kind": "the call that acquired the block",
        "thread": "that acquired the block, numbered within its process from 1",
        "site": "number of the call site within its process, from 1; 0: unknown",
        "caller": "function of the call site, with its file",
        "acquired": "seconds since the recording of the process began; null where stamps are only an order",
        "lifetime": "seconds; null where nobody released the block, or stamps are only an order",
        "acquired_stamp": "ticks",
        "released_stamp": "ticks; null where nobody released the block",
        "releasing_kind": "the call that released the block; null where nobody did",
        "releasing_thread": "null where nobody released the block",
        "releasing_site": "0: unknown; null where nobody released the block",
        "growths": "reallocations that led to the block, one after another",
    },
}
ROWS = 1 << 18  # in a row group, which takes some 60 MiB of memory with all columns


def write_parquet(
    trace: Path,
    summary: dict[str, Any],
    what: str,
    path: Path,
    progress: tool.Progress = lambda _done, _whole: None,
) -> None:
    """Write the `events` or the `blocks` of all processes; `progress` gets written rows and all events.

    Raises HeaplabError if the file cannot be written.
    """
    try:
        arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        raise HeaplabError("Parquet needs pyarrow: pip install 'heaplab[export]'") from None
    whole = sum(process["events"] for process in summary["processes"])
    schema = schema_of(arrow, what, summary)
    done = 0
    with (
        replacing(path) as beside,
        parquet.ParquetWriter(beside, schema, compression="zstd") as writer,
        tool.rows(trace, what) as stream,
    ):
        known: Known | None = None
        for rows in batches(stream, RECORDS[what]):
            number = int(rows["process"][0])
            if known is None or known.number != number:
                known = Known(arrow, trace, summary, number)
            columns = TABLES[what](known, rows)
            writer.write_table(arrow.table([columns[name] for name in schema.names], schema=schema))
            done += len(rows)
            progress(min(done, whole), whole)


def batches(stream: IO[bytes], record: np.dtype[Any]) -> Iterator[Any]:
    """Records of one process at a time."""
    while data := stream.read(ROWS * record.itemsize):
        rows = np.frombuffer(data, dtype=record)
        yield from np.split(rows, np.flatnonzero(np.diff(rows["process"])) + 1)


class Known:
    """The facts about a process that turn the numbers of its records into columns."""

    def __init__(self, arrow: Any, trace: Path, summary: dict[str, Any], number: int) -> None:
        of = summary["processes"][number]["process"]
        self.arrow = arrow
        self.number = number
        self.origin = int(of.get("start_ticks") or 0)
        self.ticks_per_second = int(of.get("ticks_per_second") or 0)
        sites = tool.sites(trace, number)
        places = places_of(sites, summary["machine"])
        callers = [str(places.get(stack[0], "")) if stack else "" for stack in sites["sites"]]
        self._callers = arrow.array(["", *callers])
        self._kinds = arrow.array([KINDS.get(kind, "") for kind in range(256)])

    def caller(self, sites: Any) -> Any:
        sites = np.where(sites < len(self._callers), sites, 0).astype(np.int32)
        return self.arrow.DictionaryArray.from_arrays(sites, self._callers)

    def kind(self, kinds: Any, null: Any = None) -> Any:
        indices = self.arrow.array(kinds.astype(np.int32), mask=null)
        return self.arrow.DictionaryArray.from_arrays(indices, self._kinds)

    def seconds(self, ticks: Any, null: Any = None) -> Any:
        timeless = np.full(len(ticks), self.ticks_per_second == 0)
        mask = timeless if null is None else timeless | null
        return self.arrow.array(ticks.astype(np.float64) / (self.ticks_per_second or 1), mask=mask)

    def since_origin(self, stamps: Any) -> Any:
        # A block that lived before the recording has a stamp below the origin: its difference is negative.
        return self.seconds((stamps - np.uint64(self.origin)).view(np.int64))


def events(known: Known, rows: Any) -> dict[str, Any]:
    return {
        **{name: rows[name] for name in ("process", "number", "stamp", "thread", "address", "size", "site")},
        "time": known.since_origin(rows["stamp"]),
        "kind": known.kind(rows["kind"]),
        "alignment": alignment(rows),
        "caller": known.caller(rows["site"]),
    }


def blocks(known: Known, rows: Any) -> dict[str, Any]:
    lives = rows["releasing_kind"] == 0
    array = known.arrow.array
    return {
        **{name: rows[name] for name in ("process", "address", "size", "thread", "site", "growths")},
        "alignment": alignment(rows),
        "kind": known.kind(rows["kind"]),
        "caller": known.caller(rows["site"]),
        "acquired": known.since_origin(rows["acquired"]),
        "lifetime": known.seconds(rows["released"] - rows["acquired"], lives),
        "acquired_stamp": rows["acquired"],
        "released_stamp": array(rows["released"], mask=lives),
        "releasing_kind": known.kind(rows["releasing_kind"], lives),
        "releasing_thread": array(rows["releasing_thread"], mask=lives),
        "releasing_site": array(rows["releasing_site"], mask=lives),
    }


TABLES = {"events": events, "blocks": blocks}


def alignment(rows: Any) -> Any:
    log2 = rows["alignment_log2"].astype(np.uint64)
    return np.where(log2 == 0, np.uint64(0), np.uint64(1) << log2)


def schema_of(arrow: Any, what: str, summary: dict[str, Any]) -> Any:
    """Columns with what they hold; the properties of each process as metadata of the file."""
    text = arrow.dictionary(arrow.int32(), arrow.string())
    small = dict.fromkeys(
        ("process", "thread", "site", "releasing_thread", "releasing_site", "growths"), arrow.uint32()
    )
    special = dict.fromkeys(("kind", "releasing_kind", "caller"), text) | dict.fromkeys(
        ("time", "acquired", "lifetime"), arrow.float64()
    )
    types = small | special
    fields = [
        arrow.field(name, types.get(name, arrow.uint64()), metadata={"is": says} if says else None)
        for name, says in COLUMNS[what].items()
    ]
    processes = [process["process"] for process in summary["processes"]]
    return arrow.schema(fields, metadata={"heaplab.processes": json.dumps(processes)})
