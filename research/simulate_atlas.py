#!/usr/bin/env python3
"""Write the results of many campaigns that never ran, make the atlas of them, and print what that took.

The campaigns lie on four machines, one a day. Each has the experiments of a suite under ten allocators and
the control; the versions of the allocators change every tenth campaign of a machine, and one of them gets
12 % slower in one experiment on the last machine, which the atlas has to name.

Example: research/simulate_atlas.py --campaigns 200 --folder /tmp/atlas
"""

import argparse
import resource
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from heaplab.atlas import atlas_files
from heaplab.atlas.atlas_pages import AtlasSite
from heaplab.atlas.many_campaigns import gathered
from heaplab.catalog import contents as catalogs
from heaplab.results.records import (
    CONTROL_SUFFIX,
    AnyRecord,
    Arm,
    Campaign,
    End,
    Host,
    Metric,
    Process,
    Run,
    Sample,
    ServedBy,
    Status,
)

NAMES = ["glibc", "jemalloc", "tcmalloc", "mimalloc2", "mimalloc3", "tbbmalloc", "snmalloc", "rpmalloc"]
NAMES += ["llheap", "scalloc"]
MACHINES = 4
BLOCKS = 6
FIRST_DAY = datetime(2026, 1, 1, 2, tzinfo=UTC)
PLANTED, SLOWER = "rpmalloc", 1.12


def version_of(name: str, number: int) -> str:
    """Of the baseline always the same: what changes with it cannot be compared."""
    return "2.36" if name == "glibc" else f"1.{(number // MACHINES + len(name)) // 10}.0"


def records(number: int, suite: str) -> Iterator[AnyRecord]:
    catalog = catalogs.load()
    experiments = catalog.experiments_matching(list(catalog.suite(suite).experiments))
    experiments = [item for item in experiments if catalog.workloads[item.workload].kind == "synthetic"]
    works = {item.workload: catalog.workloads[item.workload] for item in experiments}
    draw = np.random.default_rng(number)
    yield Campaign(
        schema=1,
        id=f"{number:016x}",
        started=(FIRST_DAY + timedelta(days=number)).isoformat(),
        heaplab="0.1.0",
        command=["heaplab", "compare", "--suite", suite, "-o", f"out/{number}"],
        scale="quick",
        seed=1,
        experiments=[item.model_dump(mode="json") for item in experiments],
        workloads={name: work.model_dump(mode="json") for name, work in works.items()},
        allocators=NAMES,
    )
    yield Host(
        facts={"cpu": f"Example CPU {number % MACHINES}", "cpus": 8, "memory": 16 << 30, "kernel": "6.1"}
    )
    for name in NAMES:
        version = version_of(name, number)
        preload = [] if name == "glibc" else [f"/usr/lib/lib{name}.so"]
        sha256 = dict.fromkeys(preload, f"{name}{version}".encode().hex())
        yield Arm(
            allocator=name,
            title=name,
            version=version,
            preload=preload,
            environment={},
            sha256=sha256,
            build_id={},
        )
    order = 0
    for item in experiments:
        metric = item.main_metric or works[item.workload].main_metric
        about = works[item.workload].metrics.get(metric)
        for cell in item.cells("quick"):
            for block in range(BLOCKS):
                for name in [*NAMES, NAMES[0] + CONTROL_SUFFIX]:
                    place = NAMES.index(name.removesuffix(CONTROL_SUFFIX))
                    seconds = 0.3 * (1 - 0.05 * place) * float(np.exp(draw.normal(0, 0.01)))
                    late = version_of(name, number) > "1.2" and number % MACHINES == MACHINES - 1
                    if name == PLANTED and late and item is experiments[0]:
                        seconds *= SLOWER
                    rate = about is not None and about.better == "higher"
                    value = Metric(value=1 / seconds if rate else seconds, unit=about.unit if about else "s")
                    peak = int((40 << 20) * (1 + 0.1 * place) * float(np.exp(draw.normal(0, 0.002))))
                    size = Metric(value=peak, unit="B")
                    served = ServedBy(path=f"/usr/lib/lib{name}.so")
                    order += 1
                    yield Run(
                        experiment=item.id,
                        cell=cell,
                        allocator=name,
                        block=block,
                        order=order,
                        seed=block,
                        attempt=0,
                        status=Status.OK,
                        environment_bytes=0,
                        foreign_cpu=0.0,
                        process=Process(
                            wall_time=seconds,
                            user_time=seconds,
                            system_time=0.0,
                            minor_faults=peak >> 12,
                            major_faults=0,
                            voluntary_switches=1,
                            involuntary_switches=1,
                            peak_memory=peak,
                            mean_memory=peak * 0.8,
                            memory=[(seconds / 2, peak, 4096)],
                        ),
                        sample=Sample(
                            schema=1,
                            workload=item.workload,
                            parameters={},
                            seed=block,
                            metrics={metric: value, "peak_memory": size, "page_tables": size},
                            served_by={"malloc": served},
                        ),
                    )
    yield End(reason="precise")


def write(folder: Path, campaigns: int, suite: str) -> list[Path]:
    paths = [folder / f"{number:04}.jsonl" for number in range(campaigns)]
    folder.mkdir(parents=True, exist_ok=True)
    for number, path in enumerate(paths):
        if not path.exists():
            lines = (record.model_dump_json(by_alias=True) + "\n" for record in records(number, suite))
            path.write_text("".join(lines))
    return paths


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--campaigns", type=int, default=200)
    parser.add_argument("--suite", default="quick")
    parser.add_argument("--folder", type=Path, required=True)
    given = parser.parse_args()
    paths = write(given.folder / "results", given.campaigns, given.suite)
    began = time.monotonic()
    atlas = gathered(paths)
    read = time.monotonic() - began
    site = given.folder / "site"
    atlas_files.write(atlas, site)
    whole = time.monotonic() - began
    sizes = [path.stat().st_size / 1e6 for path in site.rglob("*") if path.is_file()]
    worse = {
        (one.new.ratio.allocator, one.new.ratio.about, one.new.campaign.machine)
        for one in AtlasSite(atlas, {}).worse
    }
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(
        f"{len(paths)} campaigns, {len(atlas.experiments)} experiments, {len(atlas.ratios):,} ratios: "
        f"read in {read:.0f} s, written in {whole - read:.0f} s; {len(sizes)} pages, {sum(sizes):.1f} MB, "
        f"the largest {max(sizes):.1f} MB; peak memory {peak} MiB"
    )
    print("worse:", *(" ".join(one) for one in sorted(worse)), sep="\n  ")


if __name__ == "__main__":
    main()
