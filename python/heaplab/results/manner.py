"""How a campaign is measured: the fields that the user's options, a request and its record have in common."""

from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Manner:
    """As in `records.Campaign`, which says what each means."""

    seed: int = 1
    budget: float | None = None
    precision: float = 0.02
    pinned: bool = False
    warm: int | None = None
    memory_limit: int | None = None
    time_limit: float | None = None
    prepare: str = ""
    cleanup: str = ""
    slices: bool = True


def those_of(kind: type, content: Any) -> dict[str, Any]:
    """The values that an object has for the fields of a dataclass, by name."""
    return {field.name: getattr(content, field.name) for field in fields(kind)}
