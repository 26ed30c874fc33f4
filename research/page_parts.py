"""Parts of the pages that research/ writes, in Markdown."""

from collections.abc import Sequence
from typing import Any

from heaplab.report.words import facts
from heaplab.stats import Interval


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def ratio_text(ratio: Interval, digits: int = 3) -> str:
    bounds = f" ({ratio.low:.{digits}f} to {ratio.high:.{digits}f})" if ratio.bounded else ""
    return f"{ratio.estimate:.{digits}f}{bounds}"


def machine(known: dict[str, Any]) -> str:
    """The last part of a page: where its figures were measured. `known` are the host's facts."""
    return (
        "\n## The machine\n\n" + "; ".join(f"{name} {value}" for name, value in facts.in_words(known)) + "\n"
    )
