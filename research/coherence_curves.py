"""The simulator's curves on the pages of scalloc's figures: what up to 256 threads cost each other.

The counts (docs/scalloc-coherence.md) are the same on every run. They lie in coherence.csv.xz, which
`build/release/bin/coherence_print_table --csv | xz > research/coherence.csv.xz` writes in three minutes.
"""

import csv
import lzma
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

import site_pictures
from heaplab.report.page.reproduced import Reproduced
from heaplab.report.page.reproduction_page import file_name
from heaplab.report.pictures import canvas, marks, palette
from heaplab.stats import Interval

COUNTS = Path(__file__).with_name("coherence.csv.xz")
COUNTED = {"transfers": "cache lines moved", "atomic": "atomic operations"}
LEAST_TOP = 0.1  # of the vertical axis: a line moved in ten operations
HEADING = "## Simulated: up to 256 threads"
WHAT = (
    "A [simulator](../scalloc-coherence.md#what-is-counted) runs scalloc's own code, each thread on a core "
    "of its own, and counts the cache lines that move between cores and the atomic operations, for one "
    "`malloc` or `free`: a flat curve says that more threads do not cost each other more. The counts: "
    "[coherence.csv.xz](../../research/coherence.csv.xz)."
)


@dataclass(frozen=True)
class Curves:
    """What a figure's page says and shows of the simulator's counts."""

    figure: str  # of the experiments scalloc-oopsla15/figNN
    variants: Sequence[str]
    workloads: Sequence[str]  # a picture for each
    says: str

    @property
    def experiment(self) -> str:
        return f"scalloc-oopsla15/{self.figure}"

    def picture(self, work: str) -> str:
        return f"{Path(file_name(self.experiment)).stem}-simulated-{work}.svg"


BOTH = ("scalloc", "scalloc-paper")
WITHOUT_REUSE = (*BOTH, "scalloc-no-reuse")
FILL_AND_EMPTY = "Threads allocate 600 blocks of 64 B, then free them"
CURVES = [
    Curves(
        "fig06", BOTH, ["threadtest"], f"{FILL_AND_EMPTY}. Next to no line moves, with any number of threads."
    ),
    Curves(
        "fig07",
        WITHOUT_REUSE,
        ["shbench"],
        "Threads replace 200 blocks of 1 to 8 B at random. Next to no line moves, with any number of "
        "threads.",
    ),
    Curves(
        "fig08",
        WITHOUT_REUSE,
        ["larson"],
        "Threads replace 50 blocks of 7 B at random, which pass to a new thread on another core after 250 "
        "replacements. The lines that move are those of blocks that change hands. They do so here after five "
        "replacements of each block; with the paper's 10,000, transfers are rarer in proportion.",
    ),
    Curves(
        "fig09",
        BOTH,
        ["producer-consumer"],
        "Every second thread frees what the one before it allocates, 16 to 512 B. Pairs do not disturb each "
        "other: 2 threads and 256 have the same counts. Objects that all threads share, as in the paper, are "
        "not simulated.",
    ),
    Curves(
        "fig10",
        BOTH,
        ["random-sizes", "span-pool"],
        "The simulator varies the number of threads, not the size: in `random-sizes` threads replace 200 "
        "blocks of 1 to 1,000 B at random, in `span-pool` they allocate blocks of 8 KiB for eight spans, "
        "then free them. Next to no line moves in either. scalloc's spans hold two blocks of 8 KiB, the "
        "paper's 32, so that scalloc takes more atomic operations there. Larger blocks are not simulated.",
    ),
    Curves(
        "fig13",
        ("scalloc-paper", "scalloc-single-stack"),
        ["threadtest", "span-pool"],
        f"{FILL_AND_EMPTY} (`threadtest`; the paper's blocks have 256 B), or blocks of 8 KiB for eight "
        "spans, which ask the span-pool more often (`span-pool`). With a stack for each core no line moves. "
        "With one stack for all threads, lines move from two threads on; in truth attempts fail as well.",
    ),
    Curves(
        "fig14",
        ("scalloc-paper", "scalloc-reclaim-in-malloc", "scalloc-clab"),
        ["threadtest"],
        f"{FILL_AND_EMPTY}. Late return of spans moves next to no line. Core-local buffers (scalloc-clab) "
        "take a lock for every operation, which is two atomic operations. No two threads share a core here, "
        "so that no line moves for the lock.",
    ),
]

# By workload, variant, and what was counted: for each number of threads the count, as the file has it.
Counts = Mapping[tuple[str, str, str], Mapping[int, str]]


def counts() -> Counts:
    with lzma.open(COUNTS, "rt", newline="") as lines:
        head, *rows = csv.reader(lines)
    threads = [int(number) for number in head[3:]]
    return {
        (work, variant, counted): dict(zip(threads, numbers, strict=True))
        for work, variant, counted, *numbers in rows
    }


def at_most_threads(known: Counts, work: str, variant: str) -> str:
    """Transfers for an operation with the most threads, and atomic operations in parentheses."""
    transfers, atomic = (known[work, variant, counted][256] for counted in COUNTED)
    return f"{transfers} ({atomic})"


def write(folder: Path) -> None:
    """Put the lines that stand for the curves at the end of the pages that `folder` has."""
    for curves in CURVES:
        page = folder / file_name(curves.experiment)
        if page.exists():
            before = page.read_text().split(f"\n{HEADING}\n")[0].rstrip()
            lines = [site_pictures.line_for(curves.picture(work), alt(work)) for work in curves.workloads]
            page.write_text("\n\n".join([before, HEADING, WHAT, curves.says, *lines]) + "\n")


def alt(work: str) -> str:
    return (
        "Cache lines moved and atomic operations for an operation against threads, one line per variant "
        f"of scalloc: {work}, simulated. Numbers in coherence.csv.xz."
    )


def pictures(known: Iterable[Reproduced]) -> dict[str, str]:
    """The curves by the names of their files, in the colours of the measured pictures on the same page."""
    measured = {each.experiment: list(each.versions) for each in known}
    drawn = {}
    for curves in CURVES:
        styles = palette.styles(list(dict.fromkeys([*measured[curves.experiment], *curves.variants])))
        for work in curves.workloads:
            drawn[curves.picture(work)] = canvas.standalone(picture(work, curves.variants, styles))
    return drawn


def picture(work: str, variants: Sequence[str], styles: Mapping[str, palette.Style]) -> str:
    known = counts()
    with mpl.rc_context(canvas.STYLE):
        figure, axes = canvas.new(len(COUNTED))
        for axis, (counted, title) in zip(axes, COUNTED.items(), strict=True):
            canvas.title(axis, f"{work}: {title}")
            for name in variants:
                row = known[work, name, counted]
                points = [(float(threads), Interval(float(number))) for threads, number in row.items()]
                marks.banded_line(axis, points, name, styles[name])
            axis.set_xscale("log", base=2)
            axis.set_xticks(list(row), [str(threads) for threads in row])
            axis.xaxis.set_minor_locator(NullLocator())
            axis.set_xlabel("threads, each on a core of its own")
            show_what_lies_at_the_bottom(axis)
        axes[0].set_ylabel("for an operation")
        canvas.legend(figure, *axes)
        return canvas.to_svg(figure, alt(work))


def show_what_lies_at_the_bottom(axis: Axes) -> None:
    """Marks of equal counts are drawn around each other, and the axis does not cut them."""
    highest = max(float(max(line.get_ydata())) for line in axis.lines)
    axis.set_ylim(0, max(LEAST_TOP, 1.08 * highest))
    for more, line in enumerate(reversed(axis.lines)):
        line.set_markersize(line.get_markersize() + 1.5 * more)
        line.set_clip_on(False)
