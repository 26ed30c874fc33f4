#!/usr/bin/env python3
"""Compare the C library's malloc with a malloc that costs a server a tenth more, beside busy processes.

lighttpd packs a page for wrk; unbound asks a name server for each query of dnsperf. The planted malloc
computes some rounds more in each call. A comparison of many rounds, beside the same busy processes, first
tells what a round costs per request there. A try is `heaplab compare`, and counts by its verdict on CPU time
per request.

Example: research/servers_under_load.py --tries 10 --budget 300 --kept servers.jsonl
Example: research/servers_under_load.py --servers unbound --tries 1 --budget 60 --rounds 500
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import nan
from pathlib import Path
from typing import Any

from command_line import parser_of
from kept_tries import KeptTries, add_kept, busy, end_as_by_interrupt

PLANTED = 0.10
TRIED_ROUNDS, TRIED_S = 2000, 180.0  # of the comparison that tells the cost of a round
MALLOC = """
#include <stdlib.h>
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
static long rounds;
__attribute__((constructor)) static void read_rounds(void) { rounds = atol(getenv("ROUNDS")); }
static void compute(void) {
  for (volatile long i = 0; i < rounds; ++i) {}
}
void* malloc(size_t size) { compute(); return __libc_malloc(size); }
void* calloc(size_t count, size_t size) { compute(); return __libc_calloc(count, size); }
void* realloc(void* block, size_t size) { compute(); return __libc_realloc(block, size); }
"""
LIGHTTPD = """
server.document-root = env.ROOT
server.port = env.PORT
server.bind = "127.0.0.1"
server.modules = ("mod_deflate")
deflate.mimetypes = ("text/html")
deflate.allowed-encodings = ("gzip")
deflate.max-loadavg = "1000.0"
mimetype.assign = (".html" => "text/html")
"""
UNBOUND = """
server:
  interface: 127.0.0.1
  port: $1
  username: ""
  chroot: ""
  directory: "."
  pidfile: ""
  use-syslog: no
  module-config: "iterator"
"""
RESOLVER = """
  do-not-query-localhost: no
  cache-max-ttl: 0
forward-zone:
  name: "."
  forward-addr: 127.0.0.1@$2
"""
NAMES = """
  local-zone: "example." redirect
  local-data: "example. 0 A 10.0.0.1"
"""
NO_CONTROL = """
remote-control:
  control-enable: no
"""


def unbound(name: str, own: str) -> str:
    """A script that writes a configuration with its two ports, and becomes unbound."""
    return f"cat > {name}.$1 <<END{UNBOUND}{own}{NO_CONTROL}END\nexec unbound -d -c {name}.$1\n"


@dataclass(frozen=True)
class Driven:
    """A server, the files of its folder, and what drives it."""

    command: tuple[str, ...]
    load: str
    take: str
    files: dict[str, str] = field(default_factory=dict)


SERVERS = {
    "lighttpd": Driven(
        ("sh", "lighttpd.sh", "{port}"),
        "wrk -t 1 -c 16 -d 1s -H 'Accept-Encoding: gzip' http://127.0.0.1:{port}/index.html",
        "wrk",
        {
            "lighttpd.conf": LIGHTTPD,
            "lighttpd.sh": "ROOT=$PWD PORT=$1 exec lighttpd -D -f lighttpd.conf\n",
            "index.html": "<p>a line of a page with some words in it</p>\n" * 60,
        },
    ),
    "unbound": Driven(
        ("sh", "resolver.sh", "{port}"),
        "sh names.sh $(({port} + 1)) 2> names.log & sleep 0.2; "
        "dnsperf -p {port} -d queries -l 1 -c 4; kill $!",
        r"requests=Queries completed: +(\d+)",
        {
            "resolver.sh": "set -- $1 $(($1 + 1))\n" + unbound("resolver", RESOLVER),
            "names.sh": unbound("names", NAMES),
            "queries": "".join(f"h{number}.example A\n" for number in range(1000)),
        },
    ),
}


def planted(folder: Path) -> Path:
    """The malloc that computes rounds in each call."""
    source, library = folder / "planted.c", folder / "libplanted.so"
    source.write_text(MALLOC)
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    return library


def compared(server: Driven, folder: Path, rounds: int, budget: float, seed: int) -> tuple[Any, float]:
    """What a comparison says of the planted malloc's CPU time per request, and the s it took."""
    began = time.monotonic()
    command = [sys.executable, "-m", "heaplab", "compare", "--allocators", "glibc", "--quiet", "--json"]
    arm = ["--allocator", f"planted={folder / 'libplanted.so'} ROUNDS={rounds}", "--seed", str(seed)]
    driven = ["--ready", "tcp:{port}", "--load", server.load, "--take", server.take, "--idle", "0.1s"]
    out = ["--budget", f"{budget:g}s", "-o", str(folder / "out")]
    done = subprocess.run(
        [*command, *arm, *driven, *out, "--", *server.command],
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        cwd=folder,
        check=False,  # a run that fails, as where a port is taken, does not undo the others
    )
    took = time.monotonic() - began
    summaries = json.loads(done.stdout)["summaries"] if done.stdout else {}
    if "program" not in summaries:  # no block was complete
        return {"verdict": "undecided", "ratio": nan, "pairs": 0}, took
    return summaries["program"]["allocators"]["planted"]["time"], took


def rounds_for(server: Driven, folder: Path, share: float) -> int:
    """The rounds in a call that take so much of a request."""
    told, _ = compared(server, folder, TRIED_ROUNDS, TRIED_S, seed=0)
    return round(TRIED_ROUNDS * share / (told["ratio"] - 1))


def rows(given: argparse.Namespace, folder: Path) -> Iterator[str]:
    yield "| server | busy beside | planted | verdicts | ratios | blocks | longest |"
    yield "|---|---|---|---|---|---|---|"
    planted(folder)
    kept = KeptTries(given.kept)
    for name in given.servers.split(","):
        server = SERVERS[name]
        for file, content in server.files.items():
            (folder / file).write_text(content)
        with busy(given.busy):
            rounds = given.rounds or kept.of([name, PLANTED, given.busy], rounds_for, server, folder, PLANTED)
            tries = []
            for seed in range(given.seed, given.seed + given.tries):
                tried = [name, given.busy, rounds, given.budget, seed]
                tries.append(kept.of(tried, compared, server, folder, rounds, given.budget, seed))
        names = Counter(told["verdict"] for told, _ in tries)
        verdicts = ", ".join(f"{count} {verdict}" for verdict, count in names.items())
        ratios, blocks = ([told[key] for told, _ in tries] for key in ("ratio", "pairs"))
        took = max(took for _, took in tries)
        row = (name, given.busy, f"{PLANTED:.0%}, {rounds} rounds a call", verdicts)
        figures = (f"{min(ratios):.2f}-{max(ratios):.2f}", f"{min(blocks)}-{max(blocks)}", f"{took:.0f} s")
        yield f"| {' | '.join(map(str, (*row, *figures)))} |"


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--servers", default=",".join(SERVERS), help="[default: %(default)s]")
    parser.add_argument("--busy", type=int, default=2, help="busy processes beside  [default: %(default)s]")
    parser.add_argument("--tries", type=int, default=10, help="of each server  [default: %(default)s]")
    parser.add_argument("--budget", type=float, default=300.0, help="s of a try  [default: %(default)s]")
    parser.add_argument("--rounds", type=int, default=0, help="of the planted malloc, in place of measuring")
    parser.add_argument("--seed", type=int, default=1, help="of the first try  [default: %(default)s]")
    add_kept(parser)
    given = parser.parse_args()
    end_as_by_interrupt()
    with tempfile.TemporaryDirectory(prefix="servers-") as name:
        for line in rows(given, Path(name)):
            print(line, flush=True)


if __name__ == "__main__":
    main()
