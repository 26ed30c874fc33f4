"""The steps between the publication's own scale and the quick one."""

import pytest

from heaplab.campaign import scale_steps
from heaplab.catalog import contents as catalogs
from heaplab.results.records import Parameter
from heaplab.results.spec import Experiment


@pytest.mark.parametrize(
    ("values", "quick", "kept"),
    [
        ([1, 2, 4, 6, 8], [1, 2, 4], [1, 2, 4]),
        ([1, 10, 100, 1000], [1, 64, 4096], [1, 100, 1000]),  # one in common: three, evenly spread
        (["1GiB", "2GiB", "32GiB"], ["256MiB"], ["1GiB"]),
        ([0, 5], [], [0]),
        ([2, 3], [1, 4, 5], [2, 3]),
    ],
)
def test_an_axis_keeps_what_the_quick_scale_has_too(
    values: list[Parameter], quick: list[Parameter], kept: list[Parameter]
) -> None:
    assert scale_steps.fewer_values(values, quick) == kept


def experiment(name: str) -> Experiment:
    return catalogs.load().experiments[name]


def test_between_the_scales_lie_the_sizes_of_the_publication_at_fewer_values() -> None:
    full, fewer, quick = scale_steps.steps_of(experiment("scalloc-oopsla15/fig06"))
    assert [len(step.experiment.cells(step.scale)) for step in (full, fewer, quick)] == [10, 3, 3]
    of_full, of_fewer = (step.experiment.resolved("full", {"threads": 4}) for step in (full, fewer))
    assert of_full == of_fewer
    assert of_full["rounds"] == 100 * int(quick.experiment.resolved("quick", {"threads": 4})["rounds"])


def test_an_experiment_with_as_many_cells_at_both_scales_has_no_step_between() -> None:
    assert [step.scale for step in scale_steps.steps_of(experiment("llheap-chapter/memory-1x1"))] == [
        "full",
        "quick",
    ]


def test_every_experiment_of_a_publication_has_its_steps() -> None:
    catalog = catalogs.load()
    names = {name for publication in catalog.publications.values() for name in publication.experiments}
    assert len(names) > 20
    for name in names:
        steps = scale_steps.steps_of(catalog.experiments[name])
        sizes = [len(step.experiment.cells("full")) for step in steps[:-1]]
        assert sizes == sorted(set(sizes), reverse=True)
        assert steps[-1].scale == "quick"
