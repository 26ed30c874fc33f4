"""A map of the heap's pages: full pages, pages pinned by a few blocks, pages retained without use."""

import matplotlib as mpl
import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.patches import Patch

from heaplab.holders.answer import Evidence
from heaplab.holders.census import Replays
from heaplab.holders.sentences import when
from heaplab.report.pictures import canvas
from heaplab.report.pictures.figures import Drawing
from heaplab.report.pictures.palette import HUES
from heaplab.report.words import units

ACROSS = 48  # cells of a row
COLORS = {"used": HUES[0][0], "pinned": HUES[1][0], "retained": HUES[3][0]}


def drawing(evidence: Evidence, replays: Replays) -> Drawing | None:
    """The pages at the moment of the advice, by address; None if there are none."""
    cells = np.array(replays.typical(evidence.moment.place).cells, dtype=float)
    if not len(cells):
        return None
    of_cell = cells.sum(axis=1)
    shares = cells / np.maximum(of_cell, 1)[:, None]
    rows = -(-len(cells) // ACROSS)
    picture = np.zeros((rows * ACROSS, 4))  # cells beyond the last are transparent
    picture[: len(cells), :3] = shares @ np.array([to_rgb(color) for color in COLORS.values()])
    picture[: len(cells), 3] = 1
    with mpl.rc_context(canvas.STYLE):
        figure, (axis,) = canvas.new(1)
        axis.imshow(picture.reshape(rows, ACROSS, 4).clip(0, 1), interpolation="nearest", aspect="auto")
        axis.grid(visible=False)
        axis.set_xticks([])
        axis.set_yticks([])
        figure.legend(
            handles=[Patch(color=color, label=name) for name, color in COLORS.items()],
            loc="outside upper right",
            ncols=len(COLORS),
        )
        amounts = ", ".join(
            f"{units.show(total, 'B')} {name}"
            for name, total in zip(COLORS, cells.sum(axis=0).tolist(), strict=True)
        )
        axis.set_xlabel(f"{amounts}; {units.show(float(of_cell[0]), 'B')} a cell")
        alt = f"pages of the heap under {replays.name} {when(evidence)}: {amounts}"
        return Drawing(f"Under {replays.name}", canvas.to_svg(figure, alt), alt, ())
