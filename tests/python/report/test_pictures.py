"""What the labels of pictures say."""

import re
from itertools import combinations
from pathlib import Path

import matplotlib as mpl
import pytest
import synthetic

from heaplab.report.pictures import canvas, figures, marks, overview, palette
from heaplab.results import spec


def labels_of(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]+)</text>", svg)


def test_a_label_keeps_its_digits_and_a_coordinate_only_one() -> None:
    with mpl.rc_context(canvas.STYLE):
        figure, (axis,) = canvas.new(1)
        axis.plot([0, 0.1], [0, 1])
        axis.set_xticks([0.0, 0.025, 0.05])
        svg = canvas.to_svg(figure, "a line")
    assert "0.025" in labels_of(svg)
    assert not re.search(r"\d\.\d\d|[A-Z] | [A-Z]", "".join(re.findall(r' d="[^"]*"', svg)))
    assert not re.search(r">\s+<|<g>", svg)


def test_a_level_course_has_two_points_and_names_are_short_in_a_file_of_its_own() -> None:
    with mpl.rc_context(canvas.STYLE):
        figure, (axis,) = canvas.new(1)
        times = range(20)
        axis.fill_between(times, [0.0] * 20, [abs(10 - time) for time in times])
        svg = canvas.to_svg(figure, "a valley")
    [area] = [path for path in re.findall(r' d="([^"]*)"', svg) if path.count("L") > 20]
    assert area.count("L") < 30, "of 42: the ground takes two"
    assert re.search(r"#\w{11}\b", svg), "the same mark has the same name in all pictures of a page"
    assert not re.search(r"#\w{11}\b", canvas.standalone(svg))


def test_a_logarithmic_axis_has_numbers_without_exponents() -> None:
    with mpl.rc_context(canvas.STYLE):
        figure, (axis,) = canvas.new(1)
        axis.plot([1, 2], [0.45, 1400])
        marks.logarithmic(axis.yaxis)
        found = labels_of(canvas.to_svg(figure, "a line"))
    assert {"0.5", "1", "20", "1,000"} <= set(found)


def test_a_long_title_of_a_panel_takes_more_lines_and_no_word_is_cut() -> None:
    with mpl.rc_context(canvas.STYLE):
        figure, (axis,) = canvas.new(1)
        canvas.title(axis, "shared-objects yes, access-live-objects no")
        found = labels_of(canvas.to_svg(figure, "a line"))
    assert {"shared-objects yes,", "access-live-objects no"} <= set(found)


def test_no_name_covers_another() -> None:
    points = {"scalloc": (1.0, 1.0), "cores": (1.05, 1.0), "jemalloc": (1.07, 0.96), "glibc": (1.49, 0.88)}
    figure, (axis,) = canvas.new(1, (4.7, 3.7))
    axis.set(xlim=(0.9, 1.6), ylim=(0.8, 1.4))
    figure.draw_without_rendering()
    overview.label_points(axis, points, palette.styles(points))
    names = [text.get_window_extent() for text in axis.texts]
    assert not any(name.overlaps(other) for name, other in combinations(names, 2))


def test_a_panel_in_which_nothing_is_drawn_has_no_logarithmic_axis() -> None:
    figure, (empty, drawn) = canvas.new(2)
    for axis, values in ((empty, [float("nan")] * 2), (drawn, [1.0, 100.0])):
        axis.plot([1, 2], values)
        marks.logarithmic(axis.yaxis)
    assert canvas.to_svg(figure, "two panels")
    assert (empty.get_yscale(), drawn.get_yscale()) == ("linear", "log")


def test_a_curve_of_speed_ups_begins_with_1_and_shows_the_panels_asked_for(tmp_path: Path) -> None:
    plot = spec.Plot(
        kind="curve",
        x="threads",
        y="allocation_time",
        relative_to="glibc",
        against={"threads": 1},
        only={"elements": [64]},
    )
    sweep = {"threads": [1, 4], "elements": [64, 128]}
    experiment = synthetic.experiment("acdc/speed-up", "acdc", sweep, [plot], **synthetic.UNPUBLISHED)
    effect = lambda name, cell: ((0.5 if name == "jemalloc" else 1.0) / cell["threads"], 1.0)  # noqa: E731
    records = synthetic.campaign(["glibc", "jemalloc"], [experiment], effect=effect)
    (study,) = synthetic.analysis_of(records, tmp_path).studies
    speed_ups = {
        (dict(cell)["threads"], name): figures.point(study, plot, cell, name).estimate
        for cell in study.cells
        for name in study.candidates
    }
    expected = {(1, "glibc"): 1, (4, "glibc"): 4, (1, "jemalloc"): 2, (4, "jemalloc"): 8}
    assert speed_ups == pytest.approx(expected, rel=0.02)
    drawing = figures.curve(study, plot, palette.styles(study.candidates))
    assert drawing.title == "Speed-up over glibc, threads 1"
    assert "elements 128" not in labels_of(drawing.svg)
