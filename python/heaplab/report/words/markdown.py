"""Tables of Markdown."""

from collections.abc import Sequence


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lines, each with its end. Bars in a field are escaped: they would end it."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(map(unbarred, line))} |\n" for line in lines)


def unbarred(text: str) -> str:
    return text.replace("|", "\\|")
