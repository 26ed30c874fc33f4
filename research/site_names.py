#!/usr/bin/env python3
"""How many call sites of Debian's programs get a useful name: by heaplab's stacks, and by heaptrack's.

Each program runs once under `heaplab record --stacks` and once under `heaptrack`, whose file becomes a trace
(`heaplab trace FILE.zst -o FILE.trace`). The rule is then the same: a name is useful if the first caller
outside allocation wrappers, the C library and containers is a function whose name is known.

Example, some seconds:
    research/site_names.py --programs jq
"""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from command_line import add_page, parser_of, put
from heaplab.errors import HeaplabError
from heaplab.machine import host
from heaplab.text import markdown, units
from heaplab.traces import profile, tool, wrappers
from page_parts import machine

JSON = "[range(20000)|{a:.,b:(.|tostring)}]|group_by(.a%7)|map(length)|add"
SQL = (
    "WITH RECURSIVE n(x) AS (VALUES(1) UNION ALL SELECT x+1 FROM n WHERE x<20000)"
    " SELECT count(DISTINCT hex(x)||'x') FROM n;"
)
PROGRAMS = {  # by Debian package
    "git": ["git", "log", "--stat", "-n", "100"],
    "perl-base": ["perl", "-e", "$h{$_}=join ',',1..$_%9 for 1..20000; print scalar keys %h"],
    "python3.11-minimal": [
        "/usr/bin/python3",
        "-c",
        "import json; json.dumps({i: str(i) for i in range(20000)})",
    ],
    "apt": ["apt-cache", "depends", "git"],
    "jq": ["jq", "-n", JSON],
    "sqlite3": ["sqlite3", ":memory:", SQL],
}


@dataclass(frozen=True)
class Share:
    """Of call sites and of the blocks they acquired, how many have a useful name."""

    sites: int
    named_sites: int
    blocks: int
    named_blocks: int

    def cells(self) -> list[str]:
        of_sites = units.percent(self.named_sites / max(1, self.sites))
        return [f"{self.sites:,}", of_sites, units.percent(self.named_blocks / max(1, self.blocks))]


def share_of(trace: Path) -> Share:
    summary = tool.summary(trace)
    of_trace = profile.of_process(trace, summary, profile.busiest(summary))
    sites = [site for site in of_trace.sites if site.number]
    useful = [site for site in sites if is_useful(of_trace, site.number)]
    blocks, named = (sum(site.blocks for site in some) for some in (sites, useful))
    return Share(len(sites), len(useful), blocks, named)


def is_useful(of_trace: profile.Profile, site: int) -> bool:
    place = of_trace.useful(site)
    return place.is_named and not wrappers.is_wrapper(place)


def by_heaplab(command: Sequence[str], folder: Path) -> Share:
    trace = folder / "heaplab.trace"
    run([sys.executable, "-m", "heaplab", "record", "--stacks", "-o", str(trace), "--", *command])
    return share_of(trace)


def by_heaptrack(command: Sequence[str], folder: Path) -> Share:
    run(["heaptrack", "-o", str(folder / "heaptrack"), *command])
    [recorded] = folder.glob("heaptrack.*")
    trace = folder / "heaptrack.trace"
    run([sys.executable, "-m", "heaplab", "trace", str(recorded), "-o", str(trace)])
    return share_of(trace)


def run(command: Sequence[str]) -> str:
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True, errors="replace").stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise HeaplabError(f"{command[0]}: {error}") from error


def row(package: str) -> list[str]:
    version = run(["dpkg-query", "--show", "--showformat", "${Version}", package])
    with tempfile.TemporaryDirectory(prefix="heaplab-") as folder:
        ways = [by(PROGRAMS[package], Path(folder)) for by in (by_heaplab, by_heaptrack)]
    return [f"{package} {version}", *(cell for share in ways for cell in share.cells())]


HEAD = [
    "package",
    *(f"{what}, {by}" for by in ("heaplab", "heaptrack") for what in ("sites", "named", "of blocks")),
]
INTRODUCTION = """# Names of call sites of Debian's programs

`research/site_names.py` writes this page; its `--help` says how it counts. The programs are those that Debian
ships: without frame pointers, without symbols of static functions, and without debug information{debug}. A
call site is a stack that acquired blocks. Its name is useful if the first caller outside allocation wrappers,
the C library and containers ([which](advise.md#names-of-call-sites)) has one; *of blocks* weighs each site by
the blocks that it acquired. The same rule reads the stacks of both tools. Where a share is low, the program
has no symbols: `heaplab trace` then names the package that brings them.

Measured on {day} with heaptrack {heaptrack} by `research/{command}`

"""


def page(packages: Sequence[str]) -> str:
    wanted = ["--showformat", "${db:Status-Status} ${Package}\\n", "*-dbg", "*-dbgsym"]
    known = [line.split() for line in run(["dpkg-query", "--show", *wanted]).splitlines()]
    debug = [package for status, package in known if status == "installed"]
    introduction = INTRODUCTION.format(
        debug=f", other than {', '.join(debug)}" if debug else "",
        day=f"{date.today():%-d %B %Y}",
        heaptrack=run(["dpkg-query", "--show", "--showformat", "${Version}", "heaptrack"]),
        command=" ".join([Path(sys.argv[0]).name, *sys.argv[1:]]),
    )
    return introduction + markdown.table(HEAD, [row(package) for package in packages]) + machine(host.facts())


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--programs", default=",".join(PROGRAMS), help="[default: %(default)s]")
    add_page(parser)
    asked = parser.parse_args()
    packages = asked.programs.split(",")
    if unknown := sorted(set(packages) - PROGRAMS.keys()):
        parser.error(f"--programs: no {unknown[0]!r} among {', '.join(PROGRAMS)}")
    try:
        text = page(packages)
    except HeaplabError as error:
        parser.exit(2, f"site_names: {error}\n")
    put(text, asked.page)


if __name__ == "__main__":
    main()
