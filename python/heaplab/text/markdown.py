"""Tables of Markdown."""

from collections.abc import Sequence


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lines, each with its end. Bars in a field are escaped: they would end it."""
    lines = [[text.replace("|", "\\|") for text in line] for line in (head, ["---"] * len(head), *rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
