"""ACDC's parameters, the lives that ACDC makes with them, and its experiment's file."""

from dataclasses import dataclass

import numpy as np

from heaplab.twins.lives import Array, Lives, ticks_of

LIST_LINKS, TREE_LINKS = 8, 16  # smallest objects (src/workloads/acdc/configuration.h)
SEED = 1


@dataclass(frozen=True)
class Parameters:
    """As options of the workload `acdc`; times in ticks, sizes in bytes, ratios in percent."""

    threads: int
    min_size: int
    max_size: int
    min_liveness: int
    max_liveness: int
    time_quantum: int
    ticks: int
    class_objects: int  # 0: by the formula of the paper
    list_ratio: float
    shared_objects_ratio: float
    permanent_objects_ratio: float

    @property
    def octaves(self) -> Array:
        """The smallest size of each octave, and behind them the largest size of all."""
        first, last = self.min_size.bit_length() - 1, (self.max_size - 1).bit_length()
        inner = [1 << octave for octave in range(first + 1, last)]
        return np.array([self.min_size, *inner, self.max_size])

    def objects(self, size: Array, liveness: Array) -> Array:
        if self.class_objects:
            return np.full(len(size), self.class_objects)
        small = self.max_size.bit_length() - np.floor(np.log2(size)).astype(np.int64)
        return (small * (self.max_liveness - liveness + 1)) ** 2

    def classes(self, number: int, random: np.random.Generator) -> tuple[Array, Array, Array]:
        """Size, liveness and number of objects of so many lifetime-size-classes."""
        bounds = self.octaves
        octave = random.integers(0, len(bounds) - 1, size=number)
        most = np.where(octave == len(bounds) - 2, bounds[-1], bounds[1:][octave] - 1)
        size = random.integers(bounds[:-1][octave], most, endpoint=True)
        liveness = random.integers(self.min_liveness, self.max_liveness, size=number, endpoint=True)
        return size, liveness, self.objects(size, liveness)

    def class_bytes(self) -> tuple[float, float]:
        """The mean bytes of a class, and of half the class that a random byte belongs to."""
        size, _, count = self.classes(100_000, np.random.default_rng(SEED))
        whole = (size * count).astype(float)
        return float(whole.mean()), float((whole**2).mean() / (2 * whole.mean()))


def lives_of(parameters: Parameters, seed: int = SEED) -> Lives:
    """The blocks of a run of ACDC, whose threads advance together."""
    random = np.random.default_rng(seed)
    made = [of_thread(parameters, thread, random) for thread in range(1, parameters.threads + 1)]
    columns = [np.concatenate(each) for each in zip(*made, strict=True)]
    order = np.argsort(columns[1], kind="stable")
    size, own, dies, thread, place, shared = (column[order] for column in columns)
    ends = np.cumsum(ticks_of(size))
    clock = int(ends[-1])
    is_freed = dies < own[-1]
    died = np.append(ends - ticks_of(size), clock)[np.searchsorted(own, np.minimum(dies, own[-1]))]
    died = np.where(is_freed, np.maximum(died, ends), clock)
    rank = np.empty(len(size), dtype=np.int64)
    rank[np.lexsort((place, died))] = np.arange(len(size))
    steps = random.integers(1, max(parameters.threads, 2), size=len(size))
    other = (thread + steps - 1) % parameters.threads + 1
    return Lives(
        size=size,
        born=ends - ticks_of(size),
        died=died,
        rank=rank,
        is_freed=is_freed,
        thread=thread,
        freed_by=np.where(is_freed, np.where(shared & (parameters.threads > 1), other, thread), 0),
        is_zeroed=np.zeros(len(size), dtype=bool),
        seconds=np.zeros(len(size)),
        clock=clock,
    )


def of_thread(parameters: Parameters, thread: int, random: np.random.Generator) -> tuple[Array, ...]:
    """Of each block size, birth and death on the thread's clock, thread, place in its death, and sharing."""
    sizes, lives, counts = parameters.classes(4096, random)
    while len(ends := ends_of(np.cumsum(sizes * counts), parameters)) < parameters.ticks:
        more = parameters.classes(len(sizes), random)
        sizes, lives, counts = map(np.concatenate, zip((sizes, lives, counts), more, strict=True))
    bytes_ = np.cumsum(sizes * counts)
    used = ends[-1] + 1
    tick = np.searchsorted(np.array(ends), np.arange(used))
    is_list = random.random(used) * 100 < parameters.list_ratio
    shared = random.random(used) * 100 < parameters.shared_objects_ratio
    stays = random.random(used) * 100 < parameters.permanent_objects_ratio
    last = tick + lives[:used] - 1 + shared
    times = np.append(bytes_[ends], np.full(int(lives.max()) + 2, np.iinfo(np.int64).max // 2))
    dies = np.where(stays, times[-1], times[np.minimum(last, len(times) - 1)])
    of = np.repeat(np.arange(used), counts[:used])
    first = np.cumsum(counts[:used]) - counts[:used]
    index = np.arange(len(of)) - first[of]
    own = (bytes_[:used] - (sizes * counts)[:used])[of] + index * sizes[of]
    place = first[of] + np.where(is_list[of], index, counts[of] - index)
    return sizes[of], own, dies[of], np.full(len(of), thread), place, shared[of]


def ends_of(bytes_: Array, parameters: Parameters) -> list[int]:
    """The last class of each tick, as far as the classes reach. `bytes_`: of all classes up to each."""
    ends: list[int] = []
    begun = 0
    while len(ends) < parameters.ticks:
        at = int(np.searchsorted(bytes_, begun + parameters.time_quantum))
        if at >= len(bytes_):
            break
        ends.append(at)
        begun = bytes_[at]
    return ends


EXPERIMENT = """\
# ACDC as a twin of a recording: heaplab trace TRACE -o FILE.toml
{comments}
title = "ACDC, fitted to a recording"
claim = "ACDC with these parameters resembles the recorded program as far as the lines above say."
workload = "acdc"
metrics = ["allocator_time", "wall_time", "average_memory", "peak_memory"]

[parameters]
{options}
access-live-objects = false
shared-objects = {shares}

[quick]
parameters = {{ ticks = {ticks} }}
sweep = {{ threads = [{threads}] }}
blocks = 5
blocks_most = 15

[full]
parameters = {{ ticks = {ticks} }}
sweep = {{ threads = [{threads}] }}
"""
SWEPT = ("threads", "ticks")


def as_experiment(parameters: Parameters, comments: list[str]) -> str:
    """The file of an experiment (docs/adding-an-experiment.md); its first lines are comments."""
    options = {name.replace("_", "-"): value for name, value in vars(parameters).items() if name not in SWEPT}
    return EXPERIMENT.format(
        comments="\n".join(f"# {line}" for line in comments),
        options="\n".join(f"{name} = {value}" for name, value in options.items()),
        shares=str(parameters.shared_objects_ratio > 0).lower(),
        ticks=parameters.ticks,
        threads=parameters.threads,
    )
