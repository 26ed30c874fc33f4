"""Matplotlib figures without a display, and their conversion to SVG that follows the colours of the page."""

import io
import re
from html import escape
from textwrap import fill
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from heaplab.report.pictures.palette import CHROME, replacements

if TYPE_CHECKING:  # older versions of matplotlib lack this name
    from matplotlib.typing import RcKeyType

STYLE: "dict[RcKeyType, Any]" = {
    "svg.fonttype": "none",
    "svg.hashsalt": "heaplab",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.edgecolor": CHROME["muted"],
    "axes.labelcolor": CHROME["ink"],
    "axes.titlesize": 9.5,
    "axes.titlecolor": CHROME["ink"],
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.titlepad": 13,  # room for a note between a title and its panel
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": CHROME["grid"],
    "grid.linewidth": 0.8,
    "text.color": CHROME["ink"],
    "xtick.color": CHROME["muted"],
    "ytick.color": CHROME["muted"],
    "xtick.labelcolor": CHROME["muted"],
    "ytick.labelcolor": CHROME["muted"],
    "legend.frameon": False,
    "figure.facecolor": "none",
    "lines.linewidth": 1.8,
    "lines.markersize": 4.5,
}
SINGLE = (5.45, 3.4)  # inches: two figures fit side by side on the page
PANEL = (3.6, 2.6)  # inches: three fit side by side
MOST_ACROSS = 3
TITLE_LETTERS = 36  # largest number of letters in a line of a title above a panel
# Three or more points of a path at the same height, up to the last of them.
LEVEL = re.compile(r"(?<=L)([-\d.]+) ([-\d.]+)L(?:[-\d.]+ \2L)+(?=[-\d.]+ \2(?![\d.]))")
LINE, LETTER = 0.6, 0.08  # inches in a legend: the line before a name, and each letter of the name


def new(panels: int = 1, size: tuple[float, float] | None = None) -> tuple[Figure, list[Axes]]:
    """A figure with `panels` panels, in rows of at most three, as wide as the page needs."""
    across = min(panels, MOST_ACROSS)
    down = -(-panels // across)
    if size is None:
        size = SINGLE if panels == 1 else (PANEL[0] * across, PANEL[1] * down)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots(down, across, squeeze=False).ravel()
        for empty in axes[panels:]:
            empty.set_axis_off()
    return figure, list(axes[:panels])


def title(axis: Axes, text: str) -> None:
    """The title of a panel, in as many lines as its width takes."""
    axis.set_title(fill(text, TITLE_LETTERS, break_on_hyphens=False))


def legend(figure: Figure, *axes: Axes) -> None:
    """A legend of what the axes draw, each name once, above all panels."""
    named = {
        name: handle for axis in axes for handle, name in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    longest = max(map(len, named), default=0)
    across = max(1, int(figure.get_figwidth() / (LINE + LETTER * longest)))
    figure.legend(
        named.values(),
        named.keys(),
        loc="outside upper left",
        ncols=across,
        columnspacing=1.4,
        handlelength=2.6,
    )


def to_svg(figure: Figure, alt: str) -> str:
    """The figure as an <svg> element for an HTML page; `alt` describes it for people who cannot see it."""
    buffer = io.StringIO()
    with mpl.rc_context(STYLE):
        # savefig draws twice, for the layout alone and for the file.
        canvas: Any = FigureCanvasSVG(figure)
        canvas.print_svg(buffer, metadata={"Date": None, "Creator": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(<g) id="[a-zA-Z0-9.]+_\d+"', r"\1", svg)  # equal in every figure, and never referred to
    svg = dense(svg)
    for color, variable in replacements().items():
        svg = svg.replace(color, variable)
    svg = svg.replace("'DejaVu Sans'", "var(--font)").replace(", sans-serif", "")
    opening = re.match(r"<svg[^>]*>", svg)
    assert opening
    box = re.search(r'viewBox="([^"]+)"', opening[0])
    assert box
    width = float(box[1].split()[2])
    kind = ' class="wide"' if width > SINGLE[0] * 72 else ""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" '
        f'aria-label="{escape(alt)}" viewBox="{box[1]}" style="width:{width * 4 / 3:.0f}px"{kind}>'
        f"<title>{escape(alt)}</title>"
    )
    return head + svg[opening.end() :]


def dense(svg: str) -> str:
    """The same picture without groups that say nothing, white space, and digits that nobody sees."""
    svg = re.sub(r">\s+<", "><", svg)
    unwrapped = 1
    while unwrapped:
        svg, unwrapped = re.subn(r"<g>((?:(?!</?g\b).)*)</g>", r"\1", svg, flags=re.DOTALL)
    return re.sub(r"<[^>]*>", lambda tag: _dense_tag(tag[0]), svg)  # not the text between tags


def _dense_tag(tag: str) -> str:
    tag = re.sub(r' transform="rotate\(-?0 [^"]*"', "", tag.replace("xlink:href", "href"))
    return re.sub(r'(?<= d=")[^"]+|(?<= [xy]=")[^"]+|(?<= transform=")[^"]+', _dense_numbers, tag)


def _dense_numbers(text: re.Match[str]) -> str:
    rounded = re.sub(r"\d+\.\d+", lambda number: f"{round(float(number[0]), 1):g}", text[0])
    return LEVEL.sub(r"\1 \2L", re.sub(r"\s*([A-Z]|z|$)\s*", r"\1", rounded))


def standalone(svg: str) -> str:
    """A picture of a page as a file of its own: in light colours, on a ground of its own, each style once.

    Names of what is drawn repeatedly are short: they need not differ from those of other pictures.
    """
    for color, variable in replacements().items():
        svg = svg.replace(variable, color)
    svg = svg.replace("var(--font)", "DejaVu Sans, sans-serif")
    opening = svg.index(">") + 1
    styles: dict[str, str] = {}
    drawn = re.sub(
        r'style="([^"]+)"',
        lambda style: f'class="{styles.setdefault(style[1], f"s{len(styles)}")}"',
        svg[opening:],
    )
    drawn = short_names(drawn)
    classes = "".join(f".{name}{{{style}}}" for style, name in styles.items())
    ground = f'<style>{classes}</style><rect width="100%" height="100%" fill="{CHROME["surface"]}"/>'
    return f"{svg[:opening]}{ground}{drawn}"


def short_names(svg: str) -> str:
    names: dict[str, str] = {}
    return re.sub(
        r'(?<=[#"])[a-z][0-9a-f]{10}(?=[")])', lambda name: names.setdefault(name[0], f"n{len(names)}"), svg
    )
