"""Results files of campaigns that never ran, with answers known beforehand.

Shape and figures are of the size a real two-core machine gives: a few experiments, six allocators, ten
blocks with a drift from block to block, some failures, and the baseline a second time.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np

from heaplab.analysis import Analysis
from heaplab.results import spec, store
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
    Series,
    ServedBy,
    Status,
)

MIB = 1 << 20
# time and memory relative to the baseline
ALLOCATORS = {
    "glibc": (1.00, 1.00),
    "jemalloc": (0.72, 1.05),
    "tcmalloc": (0.66, 1.42),
    "mimalloc": (0.55, 1.31),
    "tbbmalloc": (0.90, 1.15),
    "scalloc": (0.56, 1.08),
}
CARD = spec.Card(
    source="ACDC, ISMM 2013, section 3",
    shows="allocation, access and deallocation apart, on objects whose size, lifetime and sharing are drawn",
    does_not_show="what a program does between allocations",
    defaults="table 1 of the paper",
    flaws="the original counted shared lifetimes wrongly; heaplab does not",
)
UNPUBLISHED = dict.fromkeys(("publication", "figure", "claim"), "")


def workload(name: str, kind: str = "synthetic", main: str = "allocation_time") -> spec.Workload:
    return spec.Workload(
        id=name,
        title={"acdc": "ACDC", "larson": "Larson"}.get(name, name),
        kind=kind,
        program=name,
        card=CARD,
        metrics={}
        if kind == "program"
        else {
            "allocation_time": spec.MetricSpec(title="allocation time", unit="s"),
            "access_time": spec.MetricSpec(title="access time", unit="s"),
            "throughput": spec.MetricSpec(title="throughput", unit="1/s", better="higher"),
        },
        main_metric="wall_time" if kind == "program" else main,
        fixture=spec.Fixture(package=name, input="text") if kind == "program" else None,
    )


def experiment(name: str, work: str, sweep: dict, plots: Iterable[spec.Plot], **more) -> spec.Experiment:
    scale = spec.Scale(sweep=sweep, blocks=5, blocks_most=15)
    fields = {
        "title": name,
        "publication": "ACDC, ISMM 2013",
        "figure": "Figure 7",
        "claim": "Allocation time grows with the number of threads unless threads are kept apart.",
        "metrics": ["allocation_time", "peak_memory"],
    } | more
    return spec.Experiment(id=name, workload=work, plots=list(plots), quick=scale, full=scale, **fields)


def experiments() -> list[spec.Experiment]:
    plot = spec.Plot
    return [
        experiment(
            "acdc-ismm13/fig07",
            "acdc",
            {"threads": [1, 2, 4, 8]},
            [
                plot(kind="curve", x="threads", y="allocation_time", log_x=True),
                plot(kind="curve", x="threads", y="peak_memory", log_x=True),
                plot(kind="series", series="memory"),
            ],
            title="Allocation time against threads",
            expectations=[
                spec.Expectation(
                    says="Allocation time increases with threads for every allocator.",
                    test="increases_with",
                    arguments={"metric": "allocation_time", "along": "threads"},
                )
            ],
        ),
        experiment(
            "scalloc-oopsla15/fig09",
            "larson",
            {"threads": [1, 2]},
            [plot(kind="bars", x="threads", y="throughput")],
            title="Larson: throughput with hand-over between threads",
            notes="The quick scale <of minutes> asks for fewer objects.",
            publication="scalloc, OOPSLA 2015",
            figure="Figure 9",
            metrics=["throughput", "peak_memory"],
            parameters={"latency": True},
        ),
        experiment(
            "p0089/table08",
            "growth",
            {"elements": [64, 256, 1024, 4096, 65536], "strategy": ["AS1", "AS3", "AS7", "AS11"]},
            [
                plot(kind="heat", x="strategy", y="allocation_time", rows="elements", relative_to="AS1"),
                plot(kind="scatter", x="allocation_time", y="peak_memory"),
            ],
            title="DS6, vector<vector<string>>",
            publication="P0089R1",
            figure="Table 8",
            claim="Monotonic allocators beat the global one whatever the size.",
        ),
        experiment(
            "programs/sqlite",
            "sqlite",
            {},
            [plot(kind="bars", y="wall_time")],
            title="sqlite3 on a generated database",
            **UNPUBLISHED,
            metrics=["wall_time", "cpu_time", "peak_memory"],
        ),
        experiment(
            "programs/xslt",
            "xslt",
            {},
            [plot(kind="bars", y="wall_time"), plot(kind="series", series="process")],
            title="xsltproc on a large document",
            **UNPUBLISHED,
            metrics=["wall_time", "peak_memory"],
        ),
    ]


def aspect(name: str, **more: str) -> spec.Aspect:
    return spec.Aspect(id=name, title=name.title(), question=f"How is {name}?", where=f"it is {name}", **more)


def experiments_of(aspects: Mapping[int, spec.Aspect]) -> list[spec.Experiment]:
    """The experiments with these numbers, each with its aspect."""
    every = experiments()
    return [every[number].model_copy(update={"aspect": aspect}) for number, aspect in aspects.items()]


WORKLOADS = {
    "acdc": workload("acdc"),
    "larson": workload("larson", main="throughput"),
    "growth": workload("growth"),
    "sqlite": workload("sqlite", "program"),
    "xslt": workload("xslt", "program"),
}

Effect = Callable[[str, dict], tuple[float, float]]
Effects = Mapping[str, tuple[float, float]]  # by allocator, in every cell; without an entry the baseline's


def truth(allocator: str, cell: dict) -> tuple[float, float]:
    """Time and memory of a cell under an allocator, relative to the baseline's smallest cell."""
    time, memory = ALLOCATORS.get(allocator.removesuffix(CONTROL_SUFFIX), (1.0, 1.0))
    threads = cell.get("threads", 1)
    strategy = {"AS1": 1.0, "AS3": 0.21, "AS7": 0.6, "AS11": 0.26}[cell.get("strategy", "AS1")]
    share = 1.0 if cell.get("strategy", "AS1") == "AS1" else 0.2
    size = (cell.get("elements", 64) / 64) ** 0.04
    contention = threads ** (0.9 if time == 1.0 else 0.35)
    return (1 + share * (time - 1)) * contention * strategy * size, memory * (1 + 0.2 * threads)


def campaign(
    allocators: Iterable[str] = ALLOCATORS,
    which: Iterable[spec.Experiment] | None = None,
    blocks: int = 10,
    noise: float = 0.01,
    drift: float = 0.02,
    seed: int = 1,
    effect: Effect | Effects = truth,
    faults: bool = False,
) -> list[AnyRecord]:
    """All records of a campaign, in order."""
    if isinstance(effect, Mapping):
        effect = effect_of(effect)
    names, which = list(allocators), list(experiments() if which is None else which)
    generator = np.random.default_rng(seed)
    records: list[AnyRecord] = [
        Campaign(
            schema=1,
            id=f"{seed:016x}",
            started="2026-01-02T03:04:05Z",
            heaplab="0.1.0",
            command=["heaplab", "compare", "-o", "out/compare"],
            scale="quick",
            seed=seed,
            experiments=[e.model_dump(mode="json") for e in which],
            workloads={e.workload: WORKLOADS[e.workload].model_dump(mode="json") for e in which},
            allocators=names,
        ),
        Host(
            facts={
                "cpu": "Example CPU at 2.4 GHz",
                "cpus": 2,
                "memory": 8 << 30,
                "kernel": "6.1.0",
                "transparent_huge_pages": "madvise",
                "governor": None,
                "caches": {"L1 Data": "32K", "L2 Unified": "1024K"},
                "hypervisor": True,
            }
        ),
        *(library(name) for name in names),
    ]
    for experiment in which:
        for cell in experiment.cells("quick"):
            for block in range(blocks):
                machine = float(np.exp(generator.normal(0, drift)))
                order = [*names, names[0] + CONTROL_SUFFIX]
                generator.shuffle(order)
                for name in order:
                    records.append(
                        run(experiment, cell, name, block, len(records), machine, noise, generator, effect)
                    )
    return [*(plant_faults(records) if faults else records), End(reason="precise")]


def effect_of(effects: Effects) -> Effect:
    return lambda name, _: effects.get(name.removesuffix(CONTROL_SUFFIX), (1.0, 1.0))


def of_runs(records: Iterable[AnyRecord], change: Callable[[Run], Run]) -> list[AnyRecord]:
    """The same campaign with each of its runs changed."""
    return [change(record) if isinstance(record, Run) else record for record in records]


def with_runs(records: Iterable[AnyRecord], which: Callable[[Run], bool], **update) -> list[AnyRecord]:
    """The same campaign with other fields in some of its runs."""
    return of_runs(records, lambda run: run.model_copy(update=update) if which(run) else run)


def only(records: Iterable[AnyRecord], which: Callable[[Run], object]) -> list[AnyRecord]:
    """The same campaign without its other runs."""
    return [record for record in records if not isinstance(record, Run) or which(record)]


def with_process(run: Run, **update) -> Run:
    return run.model_copy(update={"process": run.process.model_copy(update=update)})


def with_metrics(run: Run, metrics: Mapping[str, Metric]) -> Run:
    """The run with further metrics, or other ones, in its sample."""
    sample = run.sample.model_copy(update={"metrics": run.sample.metrics | metrics})
    return run.model_copy(update={"sample": sample})


def as_own(records: list[AnyRecord], **changes) -> list[AnyRecord]:
    """The same campaign, with its programs given by the user instead of the catalog."""
    head = records[0]
    works = {name: work | {"fixture": None} | changes for name, work in head.workloads.items()}
    return [head.model_copy(update={"workloads": works}), *records[1:]]


def library(name: str) -> Arm:
    path = f"/usr/lib/lib{name}.so"
    return Arm(
        allocator=name,
        title=name,
        version={"glibc": "2.36", "jemalloc": "5.3.0"}.get(name, "1.0"),
        preload=[] if name == "glibc" else [path],
        environment={},
        sha256={path: "ab" * 32},
        build_id={path: "cd" * 20},
    )


def run(experiment, cell, name, block, order, machine, noise, generator, effect) -> Run:
    time, memory = effect(name, cell)
    seconds = 0.4 * time * machine * float(np.exp(generator.normal(0, noise)))
    peak = int(48 * MIB * memory * float(np.exp(generator.normal(0, noise / 20))))
    ramp = np.clip(np.linspace(0, 1.6, 40), 0, 1) * (1 + 0.05 * np.sin(np.arange(40)))
    points = [
        (float(t), float(peak * v / ramp.max()))
        for t, v in zip(np.linspace(0, seconds, 40), ramp, strict=True)
    ]
    process = Process(
        wall_time=seconds + 0.02,
        user_time=seconds * 0.8,
        system_time=seconds * 0.15,
        minor_faults=int(peak / 4096 * (1.2 if name.startswith("glibc") else 0.7)),
        major_faults=0,
        voluntary_switches=10,
        involuntary_switches=3,
        peak_memory=peak,
        mean_memory=peak * 0.8,
        memory=[(t, int(v * 0.99), int(v * 0.01)) for t, v in points],
    )
    program = WORKLOADS[experiment.workload].kind == "program"
    return Run(
        experiment=experiment.id,
        cell=cell,
        allocator=name,
        block=block,
        order=order,
        seed=block,
        attempt=0,
        status=Status.OK,
        environment_bytes=int(generator.integers(0, 4096)),
        foreign_cpu=0.01,
        process=process,
        sample=None if program else sample(experiment, cell, name, seconds, points),
    )


def sample(experiment, cell, name, seconds, points) -> Sample:
    served = ServedBy(path=f"/usr/lib/lib{name}.so", build_id="cd" * 20)
    return Sample(
        schema=1,
        workload=experiment.workload,
        parameters={**experiment.parameters, **cell},
        seed=1,
        metrics={
            "allocation_time": Metric(value=seconds * 0.3, unit="s"),
            "access_time": Metric(value=seconds * 0.5, unit="s"),
            "throughput": Metric(value=2e6 / seconds, unit="1/s"),
            **(latency_metrics(seconds) if experiment.parameters.get("latency") else {}),
        },
        series={"memory": Series(unit="B", points=points)},
        served_by={"malloc": served, "operator new": served},
    )


def latency_metrics(seconds) -> dict[str, Metric]:
    tails = {"p50": 1, "p90": 1.5, "p99": 6, "p999": 70, "max": 9000}
    return {
        f"{operation}_latency_{name}": Metric(value=seconds * 5e-8 * share * tail, unit="s")
        for operation, share in (("allocation", 1.0), ("free", 0.6))
        for name, tail in tails.items()
    }


def no_figure(status: Status, reason: str) -> dict[str, object]:
    """What a run that did not end well has in place of its figures."""
    return {"status": status, "reason": reason, "sample": None, "process": None}


def plant_faults(records: list[AnyRecord]) -> list[AnyRecord]:
    """A crash, a time-out, a void run repeated well, and one wild value."""
    runs = {}  # the first place of each
    for i, record in enumerate(records):
        if isinstance(record, Run):
            runs.setdefault((record.allocator, record.experiment, record.block), i)

    def pick(allocator: str, experiment_id: str, block: int) -> int | None:
        return runs.get((allocator, experiment_id, block))

    def spoil(index: int | None, status: Status, reason: str) -> None:
        if index is not None:
            records[index] = records[index].model_copy(update=no_figure(status, reason))

    for block in range(10):
        spoil(pick("tbbmalloc", "programs/xslt", block), Status.FAILED, "ended by signal 11 (SIGSEGV)")
    spoil(pick("tcmalloc", "acdc-ismm13/fig07", 3), Status.TIMEOUT, "not done after 120 s")
    wild = pick("jemalloc", "acdc-ismm13/fig07", 4)
    if wild is not None:
        records[wild] = with_metrics(records[wild], {"allocation_time": Metric(value=9.0, unit="s")})
    loaded = pick("mimalloc", "programs/sqlite", 2)
    if loaded is not None:
        again = records[loaded].model_copy(
            update={"attempt": 1, "order": len(records), "reason": "once more"}
        )
        spoil(loaded, Status.VOID, "others used 0.9 s of CPU time, more than the limit of 0.1 s")
        records.append(again)
    return records


def write(records: Iterable[AnyRecord], path: Path) -> Path:
    """A results file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(record.model_dump_json(by_alias=True) + "\n" for record in records))
    return path


def analysis_of(records: Iterable[AnyRecord], folder: Path) -> Analysis:
    """Of these records, written to the folder."""
    return Analysis(store.load(write(records, folder / store.FILE_NAME)))
