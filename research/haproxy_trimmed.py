#!/usr/bin/env python3
"""Compare what `heaplab advise` promises of malloc_trim with what HAProxy gained when it began to call it.

HAProxy came to call malloc_trim when it empties its pools, as on SIGQUIT, and since 2.4 when a reload makes
it the old process; its setting no-memory-trimming is the program as it was before. 3000 clients each send the
beginning of a request; all but every fiftieth leave; SIGQUIT. The promise is that of a recording without
trimming; the truth is what HAProxy holds less with trimming than without, medians of three runs each.

A replay writes to each page of a block. Here a request takes a buffer of 16 KiB, of which HAProxy writes
--sent bytes.

Example, two minutes; needs haproxy:
    research/haproxy_trimmed.py --sent 3000,15000
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from command_line import parser_of
from heaplab.advise.sentences import size

PORT = 7791
CLIENTS, STAYING = 3000, 50
RUNS = 3
HEAPLAB = (sys.executable, "-m", "heaplab")
SETTINGS = """global
  nbthread 1
  maxconn 4000
  {trimming}
defaults
  mode http
  timeout client 60s
  timeout connect 60s
  timeout server 60s
  timeout http-request 60s
frontend all
  bind 127.0.0.1:{port}
  http-request return status 200
"""


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--sent", default="3000,15000", help="bytes of a request, at most 15000 each")
    asked = parser.parse_args()
    print("| bytes sent | memory | less with malloc_trim: promised | in HAProxy | off |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="heaplab-") as name:
        for sent in map(int, asked.sent.split(",")):
            print(f"| {' | '.join(row(Path(name), sent))} |", flush=True)


def row(folder: Path, sent: int) -> list[str]:
    before, after = (
        median(after_burst(command(folder, trimming), sent) for _ in range(RUNS))
        for trimming in ("no-memory-trimming", "")
    )
    promised = promise(folder, sent)
    less = before - after
    return [f"{sent:,}", size(before), size(promised), size(less), f"{100 * (promised / less - 1):+.1f} %"]


def command(folder: Path, trimming: str) -> list[str]:
    settings = folder / "haproxy.cfg"
    settings.write_text(SETTINGS.format(trimming=trimming, port=PORT))
    return ["haproxy", "-db", "-f", str(settings)]


def promise(folder: Path, sent: int) -> float:
    """What advise measures malloc_trim to give back where the recording ends, in bytes."""
    trace = folder / "haproxy.trace"
    recorded = [*HEAPLAB, "record", "--stacks", "-o", str(trace), "--"]
    after_burst([*recorded, *command(folder, "no-memory-trimming")], sent)
    advise = [*HEAPLAB, "advise", str(trace), "--allocators", "glibc", "--json"]
    advice = json.loads(subprocess.run(advise, capture_output=True, text=True, check=True).stdout)
    print(advice["sentence"], file=sys.stderr)
    plain, trimmed = (replay["bytes"][1] for replay in advice["allocators"])
    return float(plain - trimmed)


def after_burst(words: Sequence[str], sent: int) -> float:
    """Anonymous memory after a burst and SIGQUIT, in bytes."""
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as started:
        staying = burst(sent)
        server = child_of(started.pid) if words[0] != "haproxy" else started.pid
        os.kill(server, signal.SIGQUIT)
        time.sleep(1)
        memory = anonymous(server)
        os.kill(server, signal.SIGTERM)
        for client in staying:
            client.close()
    return memory


def burst(sent: int) -> list[socket.socket]:
    """Clients of which most have gone when this returns; those that stay."""
    request = b"GET / HTTP/1.1\r\nFiller: ".ljust(sent, b"x")
    clients = [connected()]
    clients += [socket.create_connection(("127.0.0.1", PORT)) for _ in range(CLIENTS - 1)]
    for client in clients:
        client.sendall(request)
    time.sleep(1)
    for number, client in enumerate(clients):
        if number % STAYING:
            client.close()
    time.sleep(1)
    return clients[::STAYING]


def connected() -> socket.socket:
    """The first client, as soon as the server listens."""
    for _ in range(100):
        try:
            return socket.create_connection(("127.0.0.1", PORT))
        except ConnectionRefusedError:
            time.sleep(0.1)
    raise SystemExit(f"haproxy does not listen on port {PORT}")


def child_of(parent: int) -> int:
    return int(Path(f"/proc/{parent}/task/{parent}/children").read_text().split()[0])


def anonymous(process: int) -> float:
    [kib] = re.findall(r"RssAnon:\s*(\d+)", Path(f"/proc/{process}/status").read_text())
    return float(int(kib) << 10)


if __name__ == "__main__":
    main()
