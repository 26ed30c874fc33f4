"""Workloads, experiments and suites of the catalog.

`catalog/workloads/NAME.toml`, `catalog/experiments/GROUP/NAME.toml`, `catalog/suites/NAME.toml`. The id of a
file is its path below its folder without the suffix (`acdc-ismm13/fig12`).
"""

from collections.abc import Callable
from typing import Any, Literal, NewType, Self

from pydantic import Field, model_validator

from heaplab.results.checked import Spec
from heaplab.results.own_program import REPLAY, OwnProgram
from heaplab.results.records import Campaign, Parameter
from heaplab.results.server_spec import MAIN_METRIC, Server

ScaleName = Literal["quick", "full"]
SCALES: tuple[ScaleName, ...] = ("quick", "full")
# The parameters that a value stands for, by the swept name and the value.
Presets = dict[str, dict[str, dict[str, Parameter]]]

# ---------------------------------------------------------------- workloads

Command = NewType(
    "Command", str
)  # what a shell finds: a name on PATH, a path, or a glob, whose last match counts


class Card(Spec):
    """What a reader must know about a workload to interpret its figures."""

    source: str  # publication, section
    shows: str
    does_not_show: str
    defaults: str  # where the default values come from
    note: str = ""  # shown beside an answer, because a reader without it misreads the answer
    flaws: str = ""  # known flaws of the original and what heaplab does about them


class MetricSpec(Spec):
    title: str
    unit: str
    better: Literal["lower", "higher", "neither"] = "lower"


class Fixture(Spec):
    """What a real program finds around it: package, input, environment, driver. See heaplab.programs."""

    package: str  # Debian packages, separated by commas
    input: str  # one of heaplab.programs.INPUTS: the content of the folder it runs in
    output: str = ""  # the file with its result; empty: its standard output
    environment: dict[str, str] = {}  # beside the variables of the allocator
    needs: list[str] = []  # commands that the input, or the commands of a server, call
    user: str = ""  # runs the program if heaplab is run by root, for whom it refuses to start


class Workload(Spec):
    id: str
    title: str
    kind: Literal["synthetic", "program"] = "synthetic"
    program: str  # as written; `executable` tells how it is found
    arguments: list[str] = []  # always given
    fixture: Fixture | None = None  # kind "program"; None for a program of the user's
    server: Server | None = None  # if the program serves until it is told to end
    card: Card
    metrics: dict[str, MetricSpec] = {}  # beyond those every process has (records.Process)
    main_metric: str = "wall_time"  # what a suite compares
    memory_mib: int = Field(default=128, ge=0)  # warmed at least before the first run of a candidate
    timeout_s: float = Field(default=120, gt=0)

    @model_validator(mode="before")
    @classmethod
    def _measures_a_server(cls, content: Any) -> Any:
        """The metrics of a server follow from the way it is driven."""
        if not isinstance(content, dict) or not content.get("server"):
            return content
        measured = Server.model_validate(content["server"]).metrics()
        metrics = {name: MetricSpec.model_validate(about._asdict()) for name, about in measured.items()}
        return {"main_metric": MAIN_METRIC} | content | {"metrics": metrics}

    @property
    def executable(self) -> OwnProgram | Command:
        """What the workload executes: a program of heaplab's, or a command found as a shell finds it."""
        return OwnProgram(self.program) if self.kind == "synthetic" else Command(self.program)

    @property
    def is_users(self) -> bool:
        """Whether the workload is a program of the user's, which no card describes."""
        return self.kind == "program" and self.fixture is None

    @property
    def replays(self) -> bool:
        """Whether the workload repeats the calls of a recorded program, which decide how long a run takes."""
        return self.executable == REPLAY


# ---------------------------------------------------------------- aspects


class Aspect(Spec):
    """A quality in which allocators differ: one of the tables in `catalog/aspects.toml`."""

    id: str
    title: str
    question: str  # one sentence
    where: str  # completes "faster where ..."
    measure: Literal["time", "memory"] = "time"  # the metric that the answer rests on


# ---------------------------------------------------------------- experiments


class Derived(Spec):
    """A parameter computed from another, rounded down: `times` the other, or `share_of` over the other."""

    of: str
    times: float | None = None
    share_of: float | None = None

    @model_validator(mode="after")
    def _follows_in_one_way(self) -> Self:
        if (self.times is None) == (self.share_of is None):
            raise ValueError("takes either 'times' or 'share_of'")
        return self

    def value(self, followed: float) -> int:
        if followed == 0 and self.share_of is not None:
            raise ValueError(f"derived: {self.share_of:g} cannot be divided by {self.of}, which is 0")
        return int(followed * self.times) if self.times is not None else int((self.share_of or 0) / followed)


class Scale(Spec):
    """The settings that differ between the quick and the full form of an experiment."""

    parameters: dict[str, Parameter] = {}
    sweep: dict[str, list[Parameter]] = {}
    derived: dict[str, Derived] = {}  # beside those of the experiment
    presets: Presets = {}  # beside those of the experiment
    blocks: int = Field(default=5, ge=1, le=1000)  # at least this many paired repetitions
    blocks_most: int = Field(default=15, ge=1, le=1000)  # and at most this many, until intervals are narrow


class Length(Spec):
    """The parameter by which a campaign makes the cells of an experiment longer or shorter."""

    parameter: str  # a number; the time of a run grows with it
    least: int = Field(ge=1)  # with a smaller value, the cell would not show what it is meant to show


class ComparedParameter(Spec):
    """A swept parameter whose values are compared, under each allocator, in place of the allocators."""

    along: str
    reference: str


class Plot(Spec):
    figure: str = ""  # of the publication, if the experiment covers several
    kind: Literal["curve", "bars", "heat", "summary", "series", "scatter"] = "bars"
    x: str = ""  # a swept parameter
    y: str = ""  # a metric
    per: str = ""  # without effect; results files that heaplab wrote have it
    log_x: bool = False
    log_y: bool = False
    series: str = ""  # kind "series": a series of the sample, several with commas (stacked), or "process"
    over: str = ""  # kind "series": series of the sample, with commas, as lines over the stack
    own_scale: bool = False  # kind "series": every panel has a scale of its own
    rows: str = ""  # kinds "heat", "summary": the swept parameter down the side; empty: the candidates
    # kind "heat": the value of x, or the candidate, that is 100 %; empty: no ratios, colours over all cells
    relative_to: str = ""
    # kinds "heat", "summary": each cell is divided by the cell at these values of swept parameters; with
    # relative_to as well, cells are ratios of ratios. Kind "curve": the speed-up over the candidate
    # relative_to at these values
    against: dict[str, Parameter] = {}
    # kinds "summary", "curve": swept parameters with the values that are shown
    only: dict[str, list[Parameter]] = {}


class Expectation(Spec):
    """A sentence of the publication as a test on the results; claims/__init__.py lists the kinds of tests."""

    says: str  # the published sentence in our words
    figure: str = ""  # "Figure 12", if the experiment measures several and the sentence is about one
    test: str  # the kind of test
    arguments: dict[str, Parameter | list[Parameter]] = {}
    unobtainable: list[str] = []  # allocators that the sentence means and that cannot be had

    @property
    def sentence(self) -> str:
        return f"{self.figure}: {self.says}" if self.figure else self.says


class Experiment(Spec):
    id: str
    title: str
    publication: str = ""  # empty: the experiment is of no publication
    figure: str = ""  # "Figure 12", "Table 8"
    claim: str  # one sentence
    aspect: Aspect | str = ""  # in the file its id, in a campaign the aspect itself; empty: none
    workload: str
    parameters: dict[str, Parameter] = {}
    derived: dict[str, Derived] = {}
    presets: Presets = {}
    length: Length | None = None  # None: the length is fixed
    compare: ComparedParameter | None = None
    allocators: list[str] = []  # the only ones it runs under; empty: all that the user asks for
    metrics: list[str] = Field(min_length=1)
    main_metric: str = ""  # the metric of verdicts; empty: the workload's
    plots: list[Plot] = []
    expectations: list[Expectation] = []
    quick: Scale
    full: Scale
    notes: str = ""

    @model_validator(mode="after")
    def _sweeps_what_it_speaks_of(self) -> Self:
        for scale in (self.quick, self.full):
            if self.compare and self.compare.reference not in scale.sweep.get(self.compare.along, []):
                raise ValueError(
                    f"compare: {self.compare.reference} is no value swept as {self.compare.along}"
                )
            for name, values in (self.presets | scale.presets).items():
                if unknown := [value for value in scale.sweep.get(name, []) if value not in values]:
                    raise ValueError(f"presets.{name}: there is no {unknown[0]!r}, which is swept")
        return self

    @model_validator(mode="after")
    def _every_cell_has_its_parameters(self) -> Self:
        for scale in SCALES:
            for name, values in getattr(self, scale).sweep.items():
                if not values or len(set(values)) < len(values):
                    raise ValueError(f"{scale}.sweep.{name}: takes one value or more, each once")
            for cell in self.cells(scale):
                self.resolved(scale, cell)
        return self

    def measured(self, allocators: list[str]) -> list[str]:
        """The campaign's allocators that the experiment runs, with the baseline if it compares allocators."""
        always = [] if self.compare else allocators[:1]
        asked = self.allocators or allocators
        return [name for name in allocators if name in asked or name in always]

    def cells(self, scale: ScaleName) -> list[dict[str, Parameter]]:
        """Return the swept parameters of every cell, the first axis slowest; [{}] without a sweep."""
        cells: list[dict[str, Parameter]] = [{}]
        for name, values in getattr(self, scale).sweep.items():
            cells = [{**cell, name: value} for cell in cells for value in values]
        return cells

    def resolved(
        self, scale: ScaleName, cell: dict[str, Parameter], factor: float = 1.0
    ) -> dict[str, Parameter]:
        """All parameters of a cell: fixed ones, those of the scale, swept ones with presets, derived ones.

        The parameter of the length is multiplied by `factor`. Raises ValueError if the length is no whole
        number, or if a parameter from which another one is derived is no number.
        """
        own: Scale = getattr(self, scale)
        values, presets = self.parameters | own.parameters | cell, self.presets | own.presets
        for name in presets.keys() & cell.keys():
            values |= presets[name][str(values.pop(name))]
        if self.length:
            values[self.length.parameter] = self._lengthened(values.get(self.length.parameter), factor)
        for name, rule in (self.derived | own.derived).items():
            followed = values.get(rule.of)
            if isinstance(followed, bool) or not isinstance(followed, int | float):
                raise ValueError(f"derived.{name}.of: {rule.of!r} is no number that is known before {name!r}")
            values[name] = rule.value(followed)
        return values

    def with_blocks(self, blocks: int) -> Self:
        """The experiment with this number of blocks in every comparison."""
        return self.with_blocks_by(lambda _: blocks)

    def with_blocks_by(self, change: Callable[[int], int]) -> Self:
        """The experiment with the fewest and the most blocks of every comparison changed alike."""
        return self._with_scales(
            lambda scale: {"blocks": change(scale.blocks), "blocks_most": change(scale.blocks_most)}
        )

    def with_most_blocks(self, blocks: int) -> Self:
        """The experiment with at most this number of blocks in every comparison."""
        return self._with_scales(lambda _: {"blocks_most": blocks})

    def _with_scales(self, changed: Callable[[Scale], dict[str, int]]) -> Self:
        scales: dict[str, Scale] = {name: getattr(self, name) for name in SCALES}
        return self.model_copy(
            update={name: scale.model_copy(update=changed(scale)) for name, scale in scales.items()}
        )

    def _lengthened(self, value: Parameter | None, factor: float) -> int:
        assert self.length
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError(f"length.parameter: {self.length.parameter!r} is no whole number")
        return value if factor == 1.0 else max(self.length.least, round(value * factor))


def experiments_of(campaign: Campaign) -> list[Experiment]:
    return [Experiment.model_validate(content) for content in campaign.experiments]


# ---------------------------------------------------------------- suites


class Suite(Spec):
    """Experiments that `heaplab compare` runs together."""

    id: str
    title: str
    experiments: list[str] = Field(min_length=1)  # ids, or globs of ids
    names: dict[str, str] = {}  # names under which experiments are known elsewhere, with their ids
    scale: Literal["quick", "full"] = "quick"
    budget_s: float | None = Field(default=None, gt=0)  # measuring ends here even if intervals are wide
    # the lengths of cells are fitted so that this number of blocks fits in the budget; None: they stay
    fit_blocks: int | None = Field(default=None, ge=5, le=1000)
