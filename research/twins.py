#!/usr/bin/env python3
"""Measure how near twins are to recordings: six programs, and their replays under six allocators.

Of each recording four traces are replayed: the whole and its twin; the second half and the twin of the
first. ACDC runs with the parameters fitted to the whole. Memory is the mean where all threads meet. Cost is
the CPU time of the replay, in rounds of all allocators in shuffled order; --instructions counts instead what
callgrind executes, where the machine is busy. Each figure is a ratio to glibc: its median relative error
over the other allocators, and Kendall's tau of their order, with 95 % intervals by drawing rounds anew.

Example:
    research/twins.py --rounds 11 --page twins.md FOLDER
"""

import argparse
import json
import random
import shlex
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from heaplab.catalog import contents
from heaplab.comparison import recorded_trace
from heaplab.errors import HeaplabError
from heaplab.machine import native
from heaplab.machine.execute import environment_for
from heaplab.options.chosen_arms import arm_of
from heaplab.results.own_program import OwnProgram
from heaplab.traces import tool
from heaplab.traces.profile import busiest
from heaplab.tracing.run_twin import BETWEEN, HALVES, WHOLE, twin_of, verdict
from heaplab.twins import acdc_fit, acdc_parameters, distances, drawing, fitting, twin_file
from heaplab.twins.lives import Array, lives_of
from heaplab.twins.making import make_trace

ALLOCATORS = "glibc,scalloc,jemalloc,mimalloc,tcmalloc,llheap"
SEED = 1
RESAMPLED = 2000
Measured = dict[str, tuple[list[float], float]]
# What each program does: a command in a folder of its own, without input from elsewhere.
PROGRAMS = {
    "sqlite3": "sqlite3 :memory: 'create table t(a integer primary key, b text); "
    "with recursive n(i) as (select 1 union all select i+1 from n where i<20000) "
    "insert into t select i, hex(i*7919) from n; create index x on t(b); "
    "select b, count(*) from t group by substr(b,1,3) order by 2 desc limit 5'",
    "perl": 'perl -e \'for (1..40000) { $h{"k".($_%9000)} .= "x" x ($_%30); '
    'delete $h{"k".(($_*7)%9000)} if $_%3==0 }\'',
    "python": "env PYTHONMALLOC=malloc python3 -c 'import json; d = {str(k): list(map(float, range(20))) "
    "for k in range(100)}; [json.loads(json.dumps(d)) for _ in range(30)]'",
    "g++": 'sh -c \'echo "#include <map>\nstd::map<int,int> m; int main() { return m[1]; }" > s.cpp; '
    "g++ -c s.cpp'",
    "jq": 'sh -c \'seq 20000 | jq -c "{a: ., b: [., . * 2]}" | jq -s "map(.b[1]) | add"\'',
    "git": "sh -c 'git init -q r; cd r; awk -f ../commits.awk | git fast-import --quiet; "
    "git log -p --stat m'",
}
COMMITS = r"""BEGIN {
  for (i = 1; i <= 1500; i++) {
    printf "commit refs/heads/m\ncommitter n <e> %d +0000\ndata 0\n", 1500000000 + i
    printf "M 644 inline f%d\ndata <<E\n", i % 40
    for (j = i; j < 3000; j += 97) print j
    print i * 7 "\nE"
  }
}
"""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="of recordings and results; what lies there is used again")
    parser.add_argument("--programs", default=",".join(PROGRAMS))
    parser.add_argument(
        "--allocators", default=ALLOCATORS, help="[default: %(default)s]; the first is the baseline"
    )
    parser.add_argument("--rounds", type=int, default=5, help="of CPU time  [default: %(default)s]")
    parser.add_argument("--instructions", action="store_true")
    parser.add_argument("--page", type=Path, help="write the tables there, not on the terminal")
    given = parser.parse_args()
    catalog = contents.load()
    arms = {name: environment_for(arm_of(catalog, name)) for name in given.allocators.split(",")}
    rows = [of_program(name, given, arms) for name in given.programs.split(",")]
    text = page(rows, given)
    given.page.write_text(text) if given.page else print(text)
    return 0


def of_program(name: str, given: argparse.Namespace, arms: dict[str, dict[str, str]]) -> dict[str, Any]:
    folder = (given.folder / name).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    trace = folder / "recorded.trace"
    if not trace.exists():
        words = [sys.executable, "-m", "heaplab", "record", "-o", trace, "--", *shlex.split(PROGRAMS[name])]
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            Path(scratch, "commits.awk").write_text(COMMITS)
            subprocess.run(words, cwd=scratch, check=True, stdout=subprocess.DEVNULL)
    kept = folder / ("instructions.json" if given.instructions else "results.json")
    if kept.exists():
        known: dict[str, Any] = json.loads(kept.read_text())
        return known
    summary = tool.summary(trace)
    number = busiest(summary)
    lives = lives_of(trace, number, int(summary["processes"][number]["process"]["ticks_per_second"]))
    twin, (first, second) = twin_of(lives), lives.halves()
    twin_file.write(twin, folder / "x.twin")
    parameters = acdc_fit.fit(lives)
    errors = distances.errors(acdc_parameters.lives_of(parameters), lives)
    drawn = {"recorded": lives, "twin": drawing.draw(twin), "second": second}
    drawn["first's twin"] = drawing.draw(fitting.fit(first))
    commands = {"ACDC": acdc(parameters)}
    for what, blocks in drawn.items():
        made = folder / f"{what}-made.trace"
        make_trace(blocks, made)
        replay = native.needed(native.program(OwnProgram("replay")), "replay")
        commands[what] = [replay, "--file", recorded_trace.workload_of(made, quiet=True)]
    measured = {what: measure(command, given, arms) for what, command in commands.items()}
    result = {
        "name": name,
        "blocks": len(lives),
        "bytes": (folder / "x.twin").stat().st_size,
        "errors": {key: vars(value) for key, value in twin.errors.items()} | {"ACDC": vars(errors)},
        "verdict": verdict(errors, "ACDC-like"),
        "measured": measured,
    }
    kept.write_text(json.dumps(result, indent=1))
    return result


def acdc(parameters: acdc_parameters.Parameters) -> list[str | Path]:
    experiment = tomllib.loads(acdc_parameters.as_experiment(parameters, []))
    options = experiment["parameters"] | experiment["quick"]["parameters"] | {"threads": parameters.threads}
    words = [
        f"--{'' if value is not False else 'no-'}{name}" + ("" if isinstance(value, bool) else f"={value}")
        for name, value in options.items()
    ]
    return [native.needed(native.program(OwnProgram("acdc")), "acdc"), *words]


def measure(
    command: list[str | Path], given: argparse.Namespace, arms: dict[str, dict[str, str]]
) -> Measured:
    """By allocator the costs, one a round, and the memory of a command."""
    is_replay = Path(command[0]).name == "replay"
    memory = {
        name: figures(command + (["--marks", "--drift", "0"] if is_replay else []), arm)["average_memory"]
        for name, arm in arms.items()
    }
    if given.instructions:
        cost = {name: [instructions(command, arm)] for name, arm in arms.items()}
    else:
        cost = {name: [] for name in arms}
        shuffled, order = random.Random(SEED), list(arms)
        for _ in range(given.rounds):
            shuffled.shuffle(order)
            for name in order:
                cost[name].append(figures(command, arms[name])["cpu_time"])
    return {name: (cost[name], memory[name]) for name in arms}


def figures(command: list[str | Path], environment: dict[str, str]) -> dict[str, float]:
    done = subprocess.run(
        [*command, "--json", "-"], env=environment, check=True, capture_output=True, text=True
    )
    return {name: of["value"] for name, of in json.loads(done.stdout.splitlines()[-1])["metrics"].items()}


def instructions(command: list[str | Path], environment: dict[str, str]) -> float:
    """What callgrind counts, all threads together."""
    words = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *map(str, command)]
    done = subprocess.run(words, env=environment, check=True, capture_output=True, text=True)
    lines = [line for line in done.stderr.splitlines() if "Collected" in line]
    return float(lines[-1].split(":")[-1])


def of_costs(drawn: Measured, recorded: Measured) -> str:
    costs = [np.array([of[name][0] for name in recorded]) for of in (drawn, recorded)]
    random, rounds = np.random.default_rng(SEED), costs[0].shape[1]
    again = [
        apart(*(np.median(each[:, random.integers(0, rounds, rounds)], axis=1) for each in costs))
        for _ in range(RESAMPLED if rounds > 1 else 0)
    ]
    error, tau = apart(*(np.median(each, axis=1) for each in costs))
    if not again:
        return f"{error:.0%}, {tau:.2f}"
    (least, low), (most, high) = np.quantile(again, (0.025, 0.975), axis=0)
    return f"{error:.0%} ({100 * least:.0f} to {100 * most:.0f}), {tau:.2f} ({low:.2f} to {high:.2f})"


def of_memory(drawn: Measured, recorded: Measured) -> str:
    values = [np.array([of[name][1] for name in recorded]) for of in (drawn, recorded)]
    # A heap that the system does not notice has no memory, and ratios to that have no error.
    if min(each[0] for each in values) == 0:
        return "too small"
    error, tau = apart(*values)
    return f"{error:.0%}, {tau:.2f}"


def apart(drawn: Array, recorded: Array) -> tuple[float, float]:
    """Median relative error of ratios to the first, and tau, in whose order the first counts."""
    ratios = (drawn / drawn[0]) / (recorded / recorded[0])
    return float(np.median(abs(ratios[1:] - 1))), float(stats.kendalltau(drawn, recorded).statistic)


COLUMNS = (
    *("program", "blocks", "twin, KiB", "sizes", "lifetimes", "live bytes"),
    *("second half: sizes", "lifetimes", "live bytes", "between the halves: lifetimes", "ACDC"),
)
RATIOS = (
    "program",
    *(f"{of}: {what}" for of in ("twin", "first's twin", "ACDC") for what in ("{}", "memory")),
)
PAIRS = (("twin", "recorded"), ("first's twin", "second"), ("ACDC", "recorded"))


def table(heads: Sequence[str], rows: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, ["---"] * len(heads), *rows)) + "\n"


def page(results: list[dict[str, Any]], given: argparse.Namespace) -> str:
    marginals, costs = [], []
    for row in results:
        whole, half, halves = (row["errors"][name] for name in (WHOLE, HALVES, BETWEEN))
        cells = [row["name"], f"{row['blocks']:,}", f"{row['bytes'] / 1024:.0f}"]
        for errors in (whole, half):
            cells += [f"{errors['size_ks']:.2f}", f"{errors['life_ks']:.2f}, {errors['life_octaves']:.2f}"]
            cells.append(f"{errors['live_curve']:.0%}")
        marginals.append([*cells, f"{halves['life_ks']:.2f}, {halves['life_octaves']:.2f}", row["verdict"]])
        of = row["measured"]
        pairs = [(of[drawn], of[recorded]) for drawn, recorded in PAIRS]
        costs.append([row["name"], *(figure(*pair) for pair in pairs for figure in (of_costs, of_memory))])
    cost = "instructions" if given.instructions else "CPU time"
    return f"{table(COLUMNS, marginals)}\n{table([head.format(cost) for head in RATIOS], costs)}"


if __name__ == "__main__":
    try:
        sys.exit(main())
    except HeaplabError as error:
        sys.exit(f"twins.py: {error}")
