"""The numbered parts of a publication, and the experiments on them: `catalog/publications.toml`."""

from collections import Counter
from itertools import pairwise
from typing import Self

from pydantic import Field, model_validator

from heaplab.results.checked import Spec


class NumberedPart(Spec):
    """Figures and tables that one experiment measures, or the reason why none does."""

    figures: list[int] = []
    tables: list[int] = []
    section: str = ""  # if figures and tables have no numbers
    shows: str
    experiment: str = ""
    why_none: str = ""

    @model_validator(mode="after")
    def _is_measured_or_says_why_not(self) -> Self:
        if bool(self.experiment) == bool(self.why_none):
            raise ValueError("takes either 'experiment' or 'why_none'")
        if not self.names:
            raise ValueError("takes 'figures', 'tables' or a 'section'")
        return self

    @property
    def names(self) -> list[str]:
        """ "Figure 7", "Table 2": each number separately."""
        figures = [f"Figure {number}" for number in self.figures]
        tables = [f"Table {number}" for number in self.tables]
        return figures + tables + ([self.section] if self.section else [])

    @property
    def label(self) -> str:
        """ "Figure 2; Tables 9 to 11, 43 to 46"."""
        figures, tables = spoken("Figure", self.figures), spoken("Table", self.tables)
        return "; ".join(filter(None, (figures, tables, self.section)))


class Publication(Spec):
    id: str
    title: str
    source: str
    figures: int = Field(default=0, ge=0)  # the highest number of a figure
    tables: int = Field(default=0, ge=0)
    compared: list[str] = []  # allocators of the catalog that stand for those of the publication
    unobtainable: dict[
        str, str
    ] = {}  # allocators of the publication that cannot be had, and what was looked for
    parts: list[NumberedPart] = Field(min_length=1)

    @model_validator(mode="after")
    def _has_every_number_once(self) -> Self:
        numbers = Counter(name for part in self.parts for name in part.names)
        expected = [f"Figure {number + 1}" for number in range(self.figures)]
        expected += [f"Table {number + 1}" for number in range(self.tables)]
        if missing := [name for name in expected if name not in numbers]:
            raise ValueError(f"parts: {missing[0]} is in none")
        if twice := [name for name, times in numbers.items() if times > 1]:
            raise ValueError(f"parts: {twice[0]} is in two")
        sections = {part.section for part in self.parts}
        if unknown := sorted(numbers.keys() - {*expected} - sections):
            raise ValueError(f"parts: {unknown[0]} is beyond the highest number")
        return self

    @property
    def experiments(self) -> list[str]:
        """Ids of the experiments on the publication, in the order of its parts."""
        return list(dict.fromkeys(part.experiment for part in self.parts if part.experiment))


def spoken(noun: str, numbers: list[int]) -> str:
    """ "Tables 1 to 3, 5"; "" for no number."""
    if not numbers:
        return ""
    ordered = sorted(numbers)
    starts = [ordered[0], *(after for before, after in pairwise(ordered) if after > before + 1)]
    ends = [*(before for before, after in pairwise(ordered) if after > before + 1), ordered[-1]]
    runs = [f"{a}" if a == b else f"{a} to {b}" for a, b in zip(starts, ends, strict=True)]
    return f"{noun}{'s' if len(numbers) > 1 else ''} {', '.join(runs)}"
