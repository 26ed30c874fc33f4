"""The numbers that a publication prints: `catalog/published/PUBLICATION.toml`.

A table is kept cell by cell. The points of a curve are not printed; only ratios stated in the text are kept.
"""

from typing import Any, Literal, Self

from pydantic import Field, PositiveFloat, model_validator

from heaplab.results.checked import Spec
from heaplab.results.records import Parameter

Bound = Literal["about", "at most", "at least"]


class PublishedTable(Spec):
    """A printed table. Its fields are addressed by parameters of the experiment, as those of a heat table."""

    number: str  # "Table 9"
    experiment: str
    metric: str
    unit: Literal["s", "%", "times"]
    relative_to: str = ""  # as in spec.Plot: the value that is 100 %; `against`: the cell to divide by
    against: dict[str, Parameter] = {}
    at: dict[str, Parameter] = {}  # parameters that all fields have in common
    across: str
    columns: list[Parameter] = Field(min_length=1)
    down: str = ""  # empty: the only row is a mean over all cells
    rows: dict[str, list[PositiveFloat]] = Field(min_length=1)

    @model_validator(mode="after")
    def _has_a_number_for_every_column(self) -> Self:
        for row, numbers in self.rows.items():
            if len(numbers) != len(self.columns):
                raise ValueError(f"rows: {row}: takes {len(self.columns)} numbers, one for each column")
        return self

    def printed(self, row: Parameter, column: Parameter) -> float | None:
        """The number as printed, in the table's unit; None if the table has no such field."""
        numbers = self.rows.get(str(row))
        return numbers[self.columns.index(column)] if numbers and column in self.columns else None


class StatedRatio(Spec):
    """A ratio that the text states about a figure: the metric of `allocators` over that of `than`."""

    number: str
    experiment: str
    metric: str
    says: str  # the published words in ours
    ratio: PositiveFloat
    bound: Bound = "about"
    allocators: list[str] = Field(min_length=1)
    at: dict[str, list[Parameter]] = Field(min_length=1)  # swept parameters with the values it is said of
    than: str = ""  # another allocator; empty: the same
    than_at: dict[str, Parameter] = {}  # other values of swept parameters

    @model_validator(mode="after")
    def _compares_two_things(self) -> Self:
        if not self.than and not self.than_at:
            raise ValueError("takes 'than' or 'than_at'")
        return self


class Published(Spec):
    id: str  # of the publication
    read: str  # what the numbers were read from, and how precisely; without numbers, why there are none
    tables: list[PublishedTable] = []
    ratios: list[StatedRatio] = []

    @model_validator(mode="before")
    @classmethod
    def _takes_what_a_table_shares(cls, content: dict[str, Any]) -> dict[str, Any]:
        """`like` names the last table before with that number: what a table does not say is as there."""
        known: dict[str, dict[str, Any]] = {}
        tables = []
        for table in content.get("tables", []):
            own = {key: value for key, value in table.items() if key != "like"}
            if (like := table.get("like", "")) and like not in known:
                raise ValueError(f"tables: no table before has the number {like!r}")
            shared = known.get(like, {})
            tables.append(shared | own | {"at": shared.get("at", {}) | own.get("at", {})})
            known[own.get("number", "")] = tables[-1]
        return content | {"tables": tables}

    def tables_of(self, experiment: str, metric: str) -> list[PublishedTable]:
        return [table for table in self.tables if (table.experiment, table.metric) == (experiment, metric)]
