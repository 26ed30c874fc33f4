"""Whether the settings of an arm took effect, according to the arm's allocator.

Settings are environment variables: an allocator silently ignores an unknown or misspelt one. heaplab runs a
small program with the settings of the arm, and with those that make the allocator print its effective
settings:

- glibc: `ld.so --list-tunables`, which also evaluates the variables MALLOC_*;
- jemalloc: `abort_conf:true` refuses unknown options, `stats_print:true` prints the effective options;
- mimalloc: MIMALLOC_VERBOSE prints every option;
- scudo: a warning for an unknown option, an abort for an invalid value;
- heaplab's own allocators: one line on standard error for an invalid value;
- trim=: whether the library has a malloc_trim;
- a collector's runtime: it was asked for its version with the settings of the arm (catalog/locate.py).

For any other variable, heaplab only checks whether the library contains the variable's name: without the
name, the library cannot read the variable.
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from heaplab.machine import elf, huge_pages, interposition, trimming
from heaplab.machine.execute import environment_for, plain_environment
from heaplab.machine.trim_setting import TRIM
from heaplab.results.records import Arm

# Allocates and ends by exit(3) with standard error still open, because statistics are printed then.
PROBE = (sys.executable, "-I", "-S", "-c", "")
PATIENCE_S = 30
TUNABLES, JEMALLOC, MIMALLOC, OWN = "GLIBC_TUNABLES", "MALLOC_CONF", "MIMALLOC_", "HEAPLAB_"
SCUDO = "SCUDO_OPTIONS"
NO_SETTINGS = frozenset({"LD_LIBRARY_PATH", TRIM})
TUNABLE = re.compile(r"(glibc\.[\w.]+): (\S*)(?: \(min: (\S+), max: (\S+)\))?")
MIMALLOC_OPTION = re.compile(r"option '(\w+)': (\S+) *(KiB)?")
MIMALLOC_SIZE = re.compile(r"(\d+)(?:([KMGT])i?B?)?")
ON, OFF = ("1", "yes", "on", "true"), ("0", "no", "off", "false")


def proved(library: Arm) -> Arm:
    """The arm with `proof`, how its settings were checked, and `void`, why one of them has no effect."""
    faults, proofs = [], []
    if library.huge_pages:
        fault = huge_pages.fault_of(library.huge_pages)
        faults += [f"thp={library.huge_pages}: {fault}"] if fault else []
        proofs.append("prctl")
    if TRIM in library.environment:
        faults += filter(None, [trimming.fault_of(library.preload)])
        proofs.append("malloc_trim in the library")
    for name, value in library.environment.items():
        if library.runtime:
            proofs.append("the runtime's own word, --version")
        elif name not in NO_SETTINGS and not library.command:
            by, ask = asked_how(name, library)
            if fault := ask(name, value, library):
                faults.append(fault)
            proofs.append(by)
    return library.model_copy(
        update={"proof": ", ".join(dict.fromkeys(proofs)), "void": faults[0] if faults else ""}
    )


Ask = Callable[[str, str, Arm], str]


def asked_how(name: str, library: Arm) -> tuple[str, Ask]:
    """How a setting is checked, and the function that checks it: returns why the setting has no effect."""
    if name == TUNABLES or not library.preload:
        return "ld.so --list-tunables", fault_of_glibc
    if name == JEMALLOC and holds(library, name):
        return "stats_print of jemalloc", fault_of_jemalloc
    if name.startswith(MIMALLOC) and holds(library, MIMALLOC.lower()):
        return "MIMALLOC_VERBOSE", fault_of_mimalloc
    if name == SCUDO and holds(library, name):
        return "scudo's warnings", fault_of_scudo
    if name.startswith(OWN):
        return "the library's own check", fault_of_own
    return "its name in the library, which tells no values", fault_of_name


def holds(library: Arm, name: str) -> bool:
    """Whether a preloaded file, a file that is mapped only with it, or the program of an arm has the text."""
    if library.command:
        files = {str(interposition.resolve_program(library.command[0], os.environ))}
    else:
        files = {*library.preload, *(mapped(environment_for(library)) - mapped(plain_environment()))}
    return any(name.encode() in Path(path).read_bytes() for path in files)


def mapped(environment: dict[str, str]) -> set[str]:
    """The shared libraries that a process maps."""
    shown = output_of((*PROBE[:-1], "print(open('/proc/self/maps').read())"), environment)
    return set(re.findall(r" (/\S+\.so\S*)$", shown, re.MULTILINE))


def fault_of_name(name: str, _value: str, library: Arm) -> str:
    return "" if holds(library, name) else f"{Path(library.preload[0]).name} does not read {name}"


# ---------------------------------------------------------------- glibc


def fault_of_glibc(name: str, value: str, library: Arm) -> str:
    """Check a variable MALLOC_*, or the first tunable in GLIBC_TUNABLES."""
    listed = tunables(library.environment)
    if name != TUNABLES:
        tunable = f"glibc.malloc.{name.removeprefix('MALLOC_').removesuffix('_').lower()}"
        if not name.startswith("MALLOC_") or tunable not in listed:
            return f"glibc has no setting {name}"
        return fault_of_tunable(name, value, *listed[tunable])
    for entry in value.split(":"):
        tunable, _, wanted = entry.partition("=")
        if tunable not in listed:
            return f"glibc has no tunable {tunable!r}"
        if library.preload and tunable.startswith("glibc.malloc."):
            return f"{tunable} is a setting of glibc's malloc, which {library.allocator} replaces"
        if fault := fault_of_tunable(tunable, wanted, *listed[tunable]):
            return fault
    return ""


def fault_of_tunable(name: str, wanted: str, effective: str, least: str, most: str) -> str:
    if number_of(wanted) is not None and number_of(wanted) == number_of(effective):
        return ""
    bounds = f", allowed is {least} to {most}" if least else ""
    return f"{name}={wanted} is not in effect: ld.so has {effective or 'nothing'}{bounds}"


def tunables(environment: Mapping[str, str]) -> dict[str, tuple[str, str, str]]:
    """By name: the effective value and its bounds ("" if there are none)."""
    loader = elf.interpreter(Path(sys.executable).resolve())
    text = output_of([loader, "--list-tunables"], dict(environment)) if loader else ""
    return {match[1]: (match[2], match[3] or "", match[4] or "") for match in TUNABLE.finditer(text)}


def number_of(text: str) -> int | None:
    try:
        return int(text, 0)
    except ValueError:
        return int(text) if text.isdigit() else None


# ---------------------------------------------------------------- the others


def fault_of_jemalloc(name: str, value: str, library: Arm) -> str:
    printed = output_of(PROBE, asking(library, {name: f"{value},abort_conf:true,stats_print:true"}))
    if refused := re.search(r"<jemalloc>: ((?:Invalid|Out-of-range|Malformed|Conf).*)", printed):
        return f"{name}={value}: jemalloc says: {refused[1]}"
    effective = dict(re.findall(r"^ *opt\.(\w+): (\S+)", printed, re.MULTILINE))
    for entry in value.split(","):
        option, _, wanted = entry.partition(":")
        in_effect = effective.get(option, wanted)
        plain = wanted in (*ON, *OFF) or number_of(wanted) is not None
        if plain and in_effect.strip('"') != wanted:
            return f"{name}={entry} is not in effect: jemalloc has {in_effect}"
    return "" if effective else f"{name}={value}: jemalloc printed no options, so nothing is proved"


def fault_of_mimalloc(name: str, value: str, library: Arm) -> str:
    printed = output_of(PROBE, asking(library, {"MIMALLOC_VERBOSE": "1", name: value}))
    option = name.removeprefix(MIMALLOC).lower()
    effective = {match[1]: (match[2], match[3]) for match in MIMALLOC_OPTION.finditer(printed)}
    if option not in effective:
        return f"mimalloc has no option {option!r} ({name})"
    if f"{name.lower()} has an invalid value" in printed:
        return f"{name}={value}: mimalloc says that the value is invalid"
    has, unit = effective[option]
    wanted = kibibytes(value) if unit else switched(value)
    if number_of(wanted) is not None and has != wanted:
        return f"{name}={value} is not in effect: mimalloc has {' '.join(filter(None, (has, unit)))}"
    return ""


def switched(value: str) -> str:
    """A switch as mimalloc prints it, 1 or 0; any other text unchanged."""
    return "1" if value.lower() in ON else "0" if value.lower() in OFF else value


def kibibytes(size: str) -> str:
    """A size in KiB, rounded up as mimalloc prints it; any other text unchanged."""
    match = MIMALLOC_SIZE.fullmatch(size)
    return str(-(-int(match[1]) * 1024 ** " KMGT".index(match[2] or " ") // 1024)) if match else size


def fault_of_scudo(name: str, value: str, library: Arm) -> str:
    printed = output_of(PROBE, asking(library, {name: value}))
    if unknown := re.search(r"Scudo WARNING: found .* unrecognized flag\(s\):\s+(\S+)", printed):
        return f"scudo has no option {unknown[1]!r} ({name})"
    invalid = re.search(r"Scudo ERROR: (.*)", printed)
    return f"{name}={value}: scudo says: {invalid[1]}" if invalid else ""


def fault_of_own(name: str, value: str, library: Arm) -> str:
    if not holds(library, name):
        return f"{Path(library.preload[0]).name} does not read {name}"
    printed = output_of(PROBE, asking(library, {}))
    match = re.search(rf"heaplab: {re.escape(name)}=.*: wanted is (.*?);", printed)
    return f"{name}={value}: wanted is {match[1]}" if match else ""


def asking(library: Arm, more: Mapping[str, str]) -> dict[str, str]:
    return environment_for(library) | dict(more)


def output_of(command: tuple[str, ...] | list[str], environment: dict[str, str]) -> str:
    """Everything that a probe prints; "" if the probe cannot be started or does not end."""
    try:
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            timeout=PATIENCE_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace")
