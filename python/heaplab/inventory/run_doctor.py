"""What `heaplab doctor` does: tells what a machine is, and what on it makes figures doubtful."""

import json
import os
import platform
import shutil
import tempfile
from pathlib import Path
from typing import Any

import click
import rich.markup

from heaplab.catalog import contents as catalogs, locate
from heaplab.catalog.contents import Catalog
from heaplab.machine import host
from heaplab.report.words.facts import in_words, text_of
from heaplab.screen.console import console, put

PROGRAM_LIMIT_S = 30.0  # for which a program is observed
LABEL = 24  # columns of the names beside facts
# The tools that commands of heaplab call, with their purpose.
TOOLS = {
    "cc": "build allocators from source",
    "c++": "build allocators from source",
    "cargo": "fetch sources of allocators",
    "apt-get": "fetch ready-made allocators",
    "dpkg-deb": "unpack ready-made allocators",
    "perf": "read hardware counters",
}


def doctor(extra: tuple[Path, ...], program: tuple[str, ...], *, as_json: bool) -> None:
    catalog = catalogs.load(extra)
    facts = host.facts()
    here = [name for name in catalog.allocator_names() if locate.is_here(catalog, name)]
    advice = host_advice(facts) + unsafe_here(catalog) + (program_advice(program) if program else [])
    if as_json:
        click.echo(json.dumps({"host": facts, "allocators": here, "advice": advice}, indent=2))
        return
    out = console()
    for name, text in [*in_words(facts), ("allocators here", " ".join(here))]:
        put(out, rich.markup.escape(text), label=name, indent=LABEL)
    for tool, purpose in TOOLS.items():
        if shutil.which(tool) is None:
            put(out, f"needed to {purpose}", label=f"{tool} is missing", indent=LABEL)
    for line in advice:
        put(out, rich.markup.escape(line), label="-", indent=2)


def program_advice(program: tuple[str, ...]) -> list[str]:
    """What keeps a preloaded malloc from serving a program, as seen in the program's first seconds."""
    from heaplab.machine import deep_binding, execute, interposition

    path = interposition.resolve_program(program[0], os.environ)
    with tempfile.TemporaryDirectory(prefix="heaplab-") as folder:
        bound = deep_binding.deep_bound(
            [str(path), *program[1:]], execute.plain_environment(), Path(folder), PROGRAM_LIMIT_S
        )
    return [deep_binding.warning(bound) or f"{program[0]} opens no library with RTLD_DEEPBIND"]


def unsafe_here(catalog: Catalog) -> list[str]:
    """The allocators that are known to fail on this kernel, with the reason."""
    every, release = catalog.allocators.items(), platform.release()
    return [f"{name}: {why}" for name, item in every if (why := locate.fault_on_kernel(item, release))]


def host_advice(facts: dict[str, Any]) -> list[str]:
    """What to change on this machine before measuring, or to keep in mind when reading the figures."""
    advice = []
    if facts["governor"] not in (None, "performance"):
        advice.append(f"the CPU governor is {facts['governor']}: performance gives steadier times")
    if facts["load"] > 0.2 * facts["cpus"]:
        advice.append(f"the load is {facts['load']:.1f}: other work makes intervals wide and runs void")
    if facts["hypervisor"]:
        advice.append("a virtual machine: neighbours on the host show up as noise")
    if facts["smt"] == "1":
        advice.append("cores are shared by two threads each: --pin runs one on each core")
    if facts["memory_available"] is not None and facts["memory_available"] < 2 << 30:
        advice.append("less than 2 GiB of memory is free: large cells will fail")
    if facts["address_space_limit"] is not None:
        advice.append(
            "address space is limited (ulimit -v): allocators that reserve much of it may not start"
        )
    if facts["memory_limit"] is not None:
        size = text_of("memory_limit", facts["memory_limit"])
        advice.append(f"a control group limits memory to {size}: a run that needs more is killed")
    if (limit := facts["cpu_limit"]) is not None and limit < facts["cpus"]:
        advice.append(
            f"a control group limits CPU time to {limit:.2g} CPUs, and {facts['cpus']} are seen: programs of "
            "more threads stand still for parts of each period; give the container whole CPUs (a cpuset)"
        )
    if facts["seccomp"] == "filtered":
        advice.append("system calls are filtered (seccomp): hardware counters may be refused")
    if not facts["ptrace"]:
        advice.append("no process may trace another here: gdb, strace and rr will not work")
    if not os.access("/proc/self/status", os.R_OK):
        advice.append("/proc cannot be read: memory will not be measured")
    return advice
