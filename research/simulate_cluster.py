#!/usr/bin/env python3
"""Write the results of a plan that never ran, on so many hosts with so many runs each, merge them, and print
what that took: seconds, CPU seconds, the peak memory of all processes of the merge together, and the report's
size.

Every arm has a true ratio, which differs from host to host by 5 % and lies on both sides of 1 for one of the
arms. The lines are those of a real run, about a kilobyte each; a host has 20 cells and 4 arms beside the
control.

Example: research/simulate_cluster.py --hosts 1000 --runs 10000 --folder /tmp/cluster
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from itertools import repeat
from pathlib import Path

import numpy as np

import heaplab
from heaplab.campaign import plan as order
from heaplab.cluster.plan_folder import (
    KindOfMachine,
    Plan,
    PlanFile,
    PlannedArm,
    Shard,
    read_plan,
    write_plan,
)
from heaplab.machine import process_tree
from heaplab.machine.watch import descendants
from heaplab.results import spec
from heaplab.results.records import (
    CONTROL_SUFFIX,
    Arm,
    Campaign,
    End,
    Host,
    Metric,
    Process,
    Record,
    Run,
    Sample,
    ServedBy,
    Status,
)

# Time and memory of each arm; the hosts do not agree in which direction "split" differs.
ARMS = {"glibc": (1.0, 1.0), "fast": (0.7, 1.2), "lean": (1.1, 0.8), "split": (1.0, 1.0)}
SIZES, THREADS = [16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192], [1, 2]
BETWEEN = {"split": 0.15}
BETWEEN_ELSE = 0.05
NOISE = 0.03
KINDS = ("epyc", "xeon")
POINTS = 12  # of memory over time in a run
LOOK_S = 0.2  # between two looks at the memory of the merge
# Stand-ins in a line for what differs from run to run.
BLOCK, PLACE, SEED, TIME, PEAK = 111111111, 222222222, 333333333, 4.44444444, 555555555
CARD = spec.Card(source="a simulation", shows="nothing", does_not_show="anything", defaults="none")


def experiment() -> spec.Experiment:
    scale = spec.Scale(sweep={"size": SIZES, "threads": THREADS}, blocks=5, blocks_most=1000)
    return spec.Experiment(
        id="simulated/one",
        title="simulated",
        publication="",
        figure="",
        claim="",
        workload="simulated",
        metrics=["time"],
        quick=scale,
        full=scale,
    )


def workload() -> spec.Workload:
    metrics = {"time": spec.MetricSpec(title="time", unit="s")}
    return spec.Workload(
        id="simulated", title="simulated", program="simulated", card=CARD, metrics=metrics, main_metric="time"
    )


def planned(folder: Path, hosts: int) -> Plan:
    content = PlanFile(
        hash="",
        heaplab=heaplab.__version__,
        made=datetime.now(UTC),
        command=["heaplab", "cluster", "plan"],
        scale="quick",
        seed=1,
        experiments=[experiment().model_dump(mode="json")],
        workloads={"simulated": workload().model_dump(mode="json")},
        arms=[PlannedArm(name=name, base=name) for name in ARMS],
        machines={kind: KindOfMachine(nodes=-(-hosts // len(KINDS))) for kind in KINDS},
        shards=[Shard(index=i + 1, machine=KINDS[i % len(KINDS)], hash="") for i in range(hosts)],
    )
    return write_plan(folder, content)


def line_of(record: Record) -> bytes:
    return record.model_dump_json(by_alias=True).encode() + b"\n"


def template(cell: dict[str, int], name: str) -> bytes:
    """The line of a run, in which five numbers are left open."""
    process = Process(
        wall_time=TIME,
        user_time=0.31,
        system_time=0.02,
        minor_faults=4711,
        major_faults=0,
        voluntary_switches=12,
        involuntary_switches=31,
        peak_memory=PEAK,
        mean_memory=3e7,
        memory=[(0.03 * point, 30_000_000 + 1000 * point, 98_304) for point in range(POINTS)],
    )
    served = ServedBy(path=f"/usr/lib/lib{name}.so", build_id="cd" * 20)
    run = Run(
        experiment="simulated/one",
        cell=dict(cell),
        allocator=name,
        block=BLOCK,
        order=PLACE,
        seed=SEED,
        attempt=0,
        status=Status.OK,
        environment_bytes=1234,
        foreign_cpu=0.01,
        process=process,
        sample=Sample(
            schema=1,
            workload="simulated",
            parameters=dict(cell),
            seed=1,
            metrics={"time": Metric(value=TIME, unit="s")},
            served_by={"malloc": served, "operator new": served},
        ),
    )
    text = line_of(run).replace(b"%", b"%%")
    for open_number, form in ((BLOCK, b"%d"), (PLACE, b"%d"), (SEED, b"%d"), (TIME, b"%.6f"), (PEAK, b"%d")):
        text = text.replace(str(open_number).encode(), form)
    return text


def write_host(folder: Path, index: int, runs: int) -> int:
    """Write the results of one host; the number of runs."""
    plan = read_plan(folder)
    shard = plan.shards[index]
    generator = np.random.default_rng(index)
    campaign = Campaign(
        schema=1,
        id=f"{index:016x}",
        started="2026-01-02T03:04:05+00:00",
        heaplab=heaplab.__version__,
        command=["heaplab", "cluster", "plan"],
        scale="quick",
        seed=plan.seed_of(shard),
        experiments=plan.file.experiments,
        workloads=plan.file.workloads,
        allocators=list(ARMS),
    )
    node = f"node{index:04}"
    facts = {
        "cpu": "Example CPU at 2.4 GHz",
        "cpus": 2,
        "kernel": "6.1.0" if index % 97 else "6.5.0",
        "plan": plan.hash,
        "shard": shard.index,
        "shard_hash": shard.hash,
        "machine": shard.machine,
        "node": node,
        "placement": {"where": "all", "cpus": [0, 1], "cores": 2, "nodes": [0]},
    }
    arms = [
        Arm(allocator=a, title=a, version="1", preload=[], environment={}, sha256={}, build_id={})
        for a in ARMS
    ]
    cells = experiment().cells("quick")
    names = [*ARMS, f"glibc{CONTROL_SUFFIX}"]
    true = {
        name: (
            time * np.exp(generator.normal(0, BETWEEN.get(name, BETWEEN_ELSE) if name != "glibc" else 0)),
            memory,
        )
        for name, (time, memory) in ARMS.items()
    }
    templates = [(template(cell, name), *true[order.library_of(name)]) for cell in cells for name in names]
    blocks = runs // len(templates)
    with plan.results_file(shard, node).open("wb") as stream:
        stream.writelines(line_of(record) for record in (campaign, Host(facts=facts), *arms))
        for block in range(blocks):
            times = np.exp(generator.normal(0, NOISE, len(templates)))
            peaks = np.exp(generator.normal(0, NOISE / 10, len(templates)))
            place = block * len(templates)
            stream.write(
                b"".join(
                    text
                    % (block, place + i, block + 1, 0.3 * time * t, 0.3 * time * t, int(3e7 * memory * p))
                    for i, ((text, time, memory), t, p) in enumerate(
                        zip(templates, times, peaks, strict=True)
                    )
                )
            )
        stream.write(line_of(End(reason="blocks")))
        stream.write(line_of(Host(facts=facts)))
    return blocks * len(templates)


def merged(folder: Path) -> tuple[float, float, int]:
    """Merge; seconds, CPU seconds, and the largest memory of all its processes together in B."""
    began, before = time.monotonic(), sum(os.times()[2:4])
    child = subprocess.Popen(
        [sys.executable, "-m", "heaplab", "cluster", "merge", folder], stdout=subprocess.DEVNULL
    )
    peak = 0
    while child.poll() is None:
        peak = max(peak, process_tree.memory_of({child.pid, *descendants(child.pid)}).resident)
        time.sleep(LOOK_S)
    if child.returncode:
        raise SystemExit(f"the merge failed: {child.returncode}")
    return time.monotonic() - began, sum(os.times()[2:4]) - before, peak


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hosts", type=int, default=10, help="[default: %(default)s]")
    parser.add_argument("--runs", type=int, default=1000, help="on each host [default: %(default)s]")
    parser.add_argument(
        "--folder", type=Path, default=Path("simulated-cluster"), help="[default: %(default)s]"
    )
    parser.add_argument("--keep", action="store_true", help="the folder, written before or now")
    given = parser.parse_args()
    if not 1 <= given.hosts <= 100_000 or given.runs < 5 * len(experiment().cells("quick")) * len(ARMS):
        parser.error("allowed are 1 to 100000 hosts with 400 runs or more each")
    if not given.folder.exists():
        planned(given.folder, given.hosts)
        with ProcessPoolExecutor() as pool:
            list(pool.map(write_host, repeat(given.folder), range(given.hosts), repeat(given.runs)))
    size = sum(path.stat().st_size for path in (given.folder / "results").iterdir())
    seconds, cpu, peak = merged(given.folder)
    report = (given.folder / "merged" / "report.html").stat().st_size
    print("| hosts | runs each | results | merged in | CPU time | peak memory | report |")
    print("|---" * 7 + "|")
    print(
        f"| {given.hosts} | {given.runs} | {size / 1e9:.2f} GB | {seconds:.0f} s | {cpu:.0f} s | "
        f"{peak / 1e6:.0f} MB | {report / 1e6:.2f} MB |"
    )
    if not given.keep:
        shutil.rmtree(given.folder)


if __name__ == "__main__":
    main()
