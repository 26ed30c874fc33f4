"""Steps from the publication's own scale of an experiment down to the quick one.

Between the two lies the full scale with fewer values: sizes and lengths are the publication's, and each axis
of its sweep keeps the values that the quick scale has too. Where these have less than two in common, the axis
keeps as many values as the quick one has, evenly spread.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from heaplab.results import spec
from heaplab.results.records import Parameter

FULL, FEWER, QUICK = "the full scale", "the full scale with fewer values", "the quick scale"


@dataclass(frozen=True)
class ScaleStep:
    """An experiment at one of the steps; `experiment` has the sweep that is measured."""

    title: str
    scale: spec.ScaleName
    experiment: spec.Experiment


def step_of(experiment: spec.Experiment, scale: spec.ScaleName) -> ScaleStep:
    return ScaleStep(FULL if scale == "full" else QUICK, scale, experiment)


def steps_of(experiment: spec.Experiment) -> list[ScaleStep]:
    """The steps of an experiment, the publication's own first."""
    full, quick = step_of(experiment, "full"), step_of(experiment, "quick")
    fewer = with_fewer_values(experiment)
    if len(fewer.cells("full")) == len(experiment.cells("full")):
        return [full, quick]
    return [full, ScaleStep(FEWER, "full", fewer), quick]


def with_fewer_values(experiment: spec.Experiment) -> spec.Experiment:
    compared = experiment.compare.along if experiment.compare else ""
    sweep = {
        name: fewer_values(values, quick_values(experiment, name), must_agree=name == compared)
        for name, values in experiment.full.sweep.items()
    }
    full = experiment.full.model_copy(update={"sweep": sweep})
    return spec.Experiment.model_validate(experiment.model_copy(update={"full": full}).model_dump())


def quick_values(experiment: spec.Experiment, name: str) -> list[Parameter]:
    """The values at the quick scale of an axis of the full scale: one value if the axis is not swept."""
    fixed = (experiment.parameters | experiment.quick.parameters).get(name)
    return experiment.quick.sweep.get(name, [] if fixed is None else [fixed])


def fewer_values(
    values: Sequence[Parameter], quick: Sequence[Parameter], must_agree: bool = False
) -> list[Parameter]:
    """Some of the values. `must_agree`: only values of the quick scale, among them the reference."""
    common = [value for value in values if value in quick]
    if must_agree or len(common) >= min(2, max(1, len(quick))):
        return common
    return spread(values, max(1, len(quick)))


def spread(values: Sequence[Parameter], count: int) -> list[Parameter]:
    """`count` of the values, evenly spread from the first to the last; for a count of 1 the first."""
    if count >= len(values):
        return list(values)
    last = max(1, count - 1)
    return [values[round(place * (len(values) - 1) / last)] for place in range(count)]
