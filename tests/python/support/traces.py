"""Small traces, written as docs/trace-format.md says others can: everything stored, nothing packed."""

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from heaplab.traces import tool
from heaplab.traces.profile import Profile, of_process

MAGIC = b"\x89HLT\r\n\x1a\n"
PROCESS, EVENTS, SUMMARY, INDEX = 1, 3, 4, 6
MALLOC, FREE, THREAD_BEGIN, THREAD_END, THREAD_CREATE, THREAD_JOIN = 1, 32, 64, 65, 66, 67
SIZED = {*range(1, 14), 33, 34, 38, 39, 64, 66, 67, 80}


@dataclass(frozen=True)
class Event:
    stamp: int
    thread: int
    kind: int
    address: int = 0
    size: int = 0


def two_threads(rounds: int = 500) -> list[Event]:
    """Thread 1 allocates blocks; thread 2 frees every second of them."""
    made = [Event(0, 1, THREAD_BEGIN), Event(1, 1, THREAD_CREATE, address=2), Event(2, 2, THREAD_BEGIN)]
    for number in range(rounds):
        address = 4096 + 256 * number
        made.append(Event(10 + 20 * number, 1, MALLOC, address, 16 + number % 200))
        made.append(Event(20 + 20 * number, 1 + number % 2, FREE, address))
    end = 30 + 20 * rounds
    return [*made, Event(end, 2, THREAD_END), Event(end + 1, 1, THREAD_JOIN, address=2)]


def varint(number: int) -> bytes:
    found = bytearray()
    while number >= 0x80:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def zigzag(number: int) -> bytes:
    return varint(2 * number if number >= 0 else -2 * number - 1)


def columns(events: Sequence[Event]) -> bytes:
    before = [Event(events[0].stamp, 0, 0), *events]
    pairs = list(zip(before, events, strict=False))
    parts = [
        bytes(event.kind for event in events),
        b"".join(varint(event.thread) + varint(1) for event in events),
        b"".join(varint(event.stamp - last.stamp) for last, event in pairs),
        b"".join(zigzag(event.address - last.address) for last, event in pairs),
        b"".join(varint(event.size) for event in events if event.kind in SIZED),
        b"",
        b"".join(varint(0) for _ in events),
    ]
    return b"".join(varint(len(part)) for part in parts) + b"".join(parts)


def frame(kind: int, count: int, stamp: int, payload: bytes) -> bytes:
    of_payload = (len(payload), len(payload), zlib.crc32(payload))
    head = struct.pack("<4sHHIIQQIII", b"HLFM", kind, 0, 0, count, 0, stamp, *of_payload)
    return head + struct.pack("<I", zlib.crc32(head)) + payload


def write_trace(path: Path, events: Sequence[Event], version: int = 1, machine: int = 62) -> None:
    head = struct.pack("<8sHHHH20x", MAGIC, version, 0, machine, 64)
    text = b"pid=42\nprogram=/usr/bin/redis\nticks_per_second=1000000000\nstamps=tsc\n"
    frames = [
        (PROCESS, 0, 0, text),
        (EVENTS, len(events), events[0].stamp, columns(events)),
        (SUMMARY, 0, 0, b"events=%d\nlost=0\n" % len(events)),
    ]
    whole, index = head + struct.pack("<I", zlib.crc32(head)), b""
    for kind, count, stamp, payload in frames:
        index += struct.pack("<QQQIIIHH", len(whole), 0, stamp, 0, count, len(payload), kind, 0)
        whole += frame(kind, count, stamp, payload)
    offset = struct.pack("<Q", len(whole))
    whole += frame(INDEX, len(frames), 0, index)
    path.write_bytes(whole + offset + struct.pack("<I", zlib.crc32(offset)) + b"HLFE")


def profile_of(path: Path, events: Sequence[Event]) -> Profile:
    """The profile of a trace that is written with these events."""
    write_trace(path, events)
    return of_process(path, tool.summary(path), 0)
