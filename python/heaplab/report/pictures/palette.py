"""One style for each allocator in the whole report: colour, marker and dash, so that none depends on hue.

Figures are drawn in the light colours; in the page, each colour becomes a CSS variable with a dark
counterpart. Colour-blind readers can tell the hues apart (after Okabe and Ito); the colours are darkened to
stand out on white.
"""

from dataclasses import dataclass

BASELINE = ("#55606e", "#a8b3c0")
HUES = [
    ("#0072b2", "#4aaee8"),
    ("#d55e00", "#ff8f45"),
    ("#008a64", "#2ecf9f"),
    ("#b0468f", "#ea92cf"),
    ("#a87400", "#f2bf3d"),
    ("#4b3fa8", "#a49bff"),
    ("#8a2f3c", "#f08794"),
    ("#2f8fa3", "#6fd3e8"),
]
MARKERS = "sDv^oPXph<>*8"
DASHES: list[tuple[float, ...]] = [(), (5, 1.5), (1.5, 1.2), (6, 1.5, 1.5, 1.5)]
# Colours of everything that is no series: names of CSS variables, with the colour that matplotlib draws.
CHROME = {"ink": "#16191d", "muted": "#5c636c", "grid": "#e3e6ea", "surface": "#fefefe", "good": "#0b6b50"}


@dataclass(frozen=True)
class Style:
    color: str
    dark: str
    variable: str  # CSS variable
    marker: str
    dash: tuple[float, ...]


def styles(allocators: list[str]) -> dict[str, Style]:
    """The style of each allocator; the first is the baseline and is grey."""
    chosen = {}
    for index, name in enumerate(allocators):
        turn, hue = divmod(index - 1, len(HUES))
        color, dark = BASELINE if index == 0 else HUES[hue]
        dash = () if index == 0 else DASHES[turn % len(DASHES)]
        variable = "--s0" if index == 0 else f"--s{hue + 1}"
        chosen[name] = Style(color, dark, variable, "o" if index == 0 else MARKERS[(index - 1) % 13], dash)
    return chosen


def variables() -> dict[str, tuple[str, str]]:
    """CSS variables of the series: name -> (light, dark)."""
    return {"--s0": BASELINE} | {f"--s{i + 1}": hue for i, hue in enumerate(HUES)}


def replacements() -> dict[str, str]:
    """The CSS variable that replaces each colour of a figure in the page."""
    series = {light: f"var({name})" for name, (light, _) in variables().items()}
    return series | {color: f"var(--{name})" for name, color in CHROME.items()}
