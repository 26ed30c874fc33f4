"""What is known of a running process, for people and as JSON: the verdict first."""

import json
from typing import Any

import rich.console
import rich.markup

from heaplab.running.serving import Serving
from heaplab.running.smaps import ProcessMemory
from heaplab.running.target import user_name, user_of
from heaplab.running.what_holds import Finding, Look, findings_of, size
from heaplab.screen.console import Column, put, put_table
from heaplab.text import units

LABELS = 10  # columns of the labels


def print_look(look: Look, console: rich.console.Console) -> None:
    first, *others = findings_of(look)
    put(console, f"[bold]{rich.markup.escape(first.sentence)}[/]")
    for other in others:
        put(console, rich.markup.escape(other.sentence), label="also", indent=LABELS)
    for label, text in facts(look):
        put(console, rich.markup.escape(text), label=label, indent=LABELS)
    put(console, "")
    rows = table(look)
    put_table(
        console,
        [
            Column("memory", [row[0] for row in rows]),
            Column("resident", [size(row[1]) for row in rows], right=True),
            Column(
                f"in {units.show(look.seconds, 's')}", [change(row[1] - row[2]) for row in rows], right=True
            ),
        ],
    )


def facts(look: Look) -> list[tuple[str, str]]:
    lines = [("process", process_words(look)), ("malloc", malloc_words(look.served))]
    if look.answer:
        lines.append(("asked", asked_words(look)))
    if look.came_back is not None:
        assert look.answer
        lines.append(("returned", f"{size(look.came_back)} by {look.answer.question.gives_back}"))
    if look.limit.bytes is not None:
        left = f", {size(look.limit.left)} left" if look.limit.left is not None else ""
        lines.append(("limit", f"{size(look.limit.bytes)} of its control group{left}"))
    return [*lines, *(("child", line) for line in look.lost)]


def process_words(look: Look) -> str:
    threads = units.counted(look.last.threads, "thread")
    words = f"{look.of.title}, {look.of.program}, {threads}, user {user_name(user_of(look.of.pid))}"
    foreign = look.of.foreign_namespaces()
    return f"{words}, in another namespace ({', '.join(foreign)})" if foreign else words


def malloc_words(served: Serving) -> str:
    if served.malloc is None:
        return served.fault
    known = f"served by {served.malloc.path}" + (f", build {served.build_id[:16]}" if served.build_id else "")
    return "; ".join([known, *served.beside])


def asked_words(look: Look) -> str:
    assert look.answer
    call = look.answer.call
    waited = units.show(call.seconds, "s")
    return (
        f"thread {call.thread} made the calls within {waited}; {units.counted(call.tried, 'thread')} stopped"
    )


def table(look: Look) -> list[tuple[str, int, int]]:
    """What, B at the end, B at the begin."""
    before, after = look.first, look.last
    rows = [
        (name_of(str(part), after, look), after.parts.get(part, 0), before.parts.get(part, 0))
        for part in sorted({*after.parts, *before.parts}, key=lambda part: -after.parts.get(part, 0))
    ]
    rows.append(("resident, together", after.resident, before.resident))
    beside = (
        ("of it in huge pages", after.huge, before.huge),
        ("of it freed, to be taken by the kernel (MADV_FREE)", after.lazily_freed, before.lazily_freed),
        ("page tables", after.page_tables, before.page_tables),
        ("swapped out", after.swap, before.swap),
    )
    return [*rows, *(row for row in beside if row[1] or row[2])]


def name_of(part: str, memory: ProcessMemory, look: Look) -> str:
    counts = {"arenas of malloc": (memory.arenas, "heap"), "stacks of threads": (memory.threads, "thread")}
    if part in counts and look.last.parts:
        number, noun = counts[part]
        return f"{part}: {units.counted(number, noun)}"
    return part


def change(count: int) -> str:
    return "" if count == 0 else f"{'+' if count > 0 else ''}{size(count)}"


def text_of(look: Look) -> str:
    return json.dumps(document(look), ensure_ascii=False)


def document(look: Look) -> dict[str, Any]:
    first, *others = findings_of(look)
    fields: dict[str, Any] = {
        **plain(first),
        "also": [plain(other) for other in others],
        "process": {
            "pid": look.of.pid,
            "name": look.of.name,
            "program": str(look.of.program),
            "user": user_of(look.of.pid),
            "threads": look.last.threads,
            "foreign_namespaces": look.of.foreign_namespaces(),
        },
        "malloc": {
            "served_by": look.served.malloc.path if look.served.malloc else None,
            "build_id": look.served.build_id,
            "fault": look.served.fault,
            "beside": list(look.served.beside),
        },
        "memory": sizes(look.last),
        "grown": {"seconds": look.seconds, "before": sizes(look.first)},
        "group": {"limit": look.limit.bytes, "left": look.limit.left},
        "lost_children": look.lost,
    }
    if look.answer:
        said, call = look.answer.said, look.answer.call
        fields["asked"] = {
            "live": said.live,
            "free": said.free,
            "held": said.held,
            "mapped": said.mapped,
            "arenas": said.arenas,
            "returnable_at_most": look.returnable,
            "note": said.note,
            "seconds": call.seconds,
            "threads_stopped": call.tried,
            "came_back": look.came_back,
        }
    return fields


def plain(of: Finding) -> dict[str, Any]:
    return {"verdict": of.kind.value, "sure": of.sure, "sentence": of.sentence, "bytes": of.bytes}


def sizes(of: ProcessMemory) -> dict[str, Any]:
    return {
        "bytes": of.bytes,
        "resident": of.resident,
        "parts": {part.name.lower(): count for part, count in of.parts.items()},
        "arena_heaps": of.arenas,
        "huge": of.huge,
        "swap": of.swap,
        "page_tables": of.page_tables,
        "lazily_freed": of.lazily_freed,
    }
