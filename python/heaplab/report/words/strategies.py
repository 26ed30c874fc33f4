"""Readable names of the allocation strategies of P0089 (table 1) and of heaplab's additions.

Other compared values have no family and keep their names.
"""

from collections.abc import Iterable
from dataclasses import dataclass

PARAMETER = "strategy"


@dataclass(frozen=True)
class Strategy:
    family: str
    binding: str = ""  # "virtual": through an abstract base; "": a type parameter
    ending: str = ""  # "wink": never destroyed, memory released as a whole; "": destroyed

    @property
    def manner(self) -> str:
        """The difference from the first strategy of the family, shown below the name in a table's head."""
        return " ".join(word for word in (self.binding, self.ending) if word)


def _four(first: int, family: str, suffix: str = "") -> dict[str, Strategy]:
    manners = [(binding, ending) for binding in ("", "virtual") for ending in ("", "wink")]
    return {f"AS{first + place}{suffix}": Strategy(family, *manner) for place, manner in enumerate(manners)}


def _resource(prefix: str, library: str, kinds: dict[str, str]) -> dict[str, Strategy]:
    return {
        f"{prefix}-{kind}{'-wink' if ending else ''}": Strategy(f"{library} {title}", "virtual", ending)
        for kind, title in kinds.items()
        for ending in ("", "wink")
    }


WITH_MUTEX = "-synchronized"
STRATEGIES = {
    "AS1": Strategy("global"),
    "AS2": Strategy("global", "virtual"),
    **_four(3, "monotonic"),
    **_four(7, "multipool"),
    **_four(11, "multipool over monotonic"),
    **_four(7, "synchronized multipool", WITH_MUTEX),
    **_four(11, "synchronized multipool over monotonic", WITH_MUTEX),
    "AS7-doubling": Strategy("multipool, a pool a doubling"),
    "AS11-doubling": Strategy("multipool over monotonic, a pool a doubling"),
    **_resource(
        "pmr", "std::pmr", {"monotonic": "monotonic", "pool": "pool", "pool-monotonic": "pool over monotonic"}
    ),
    **_resource("boost", "Boost", {"monotonic": "monotonic", "pool": "pool"}),
    "heap-arena": Strategy("arena of the global allocator"),
}
# Pairs that differ only in the binding, only in the ending, or only in a mutex: (with it, without it).
VIRTUAL = {"AS2": "AS1"} | {f"AS{number + 2}": f"AS{number}" for number in (3, 4, 7, 8, 11, 12)}
WINKED = {f"AS{number + 1}": f"AS{number}" for number in range(3, 14, 2)} | {
    name: name.removesuffix("-wink") for name in STRATEGIES if name.endswith("-wink")
}

SYNCHRONIZED = {name: name.removesuffix(WITH_MUTEX) for name in STRATEGIES if name.endswith(WITH_MUTEX)}


def family(name: str) -> str:
    return STRATEGIES[name].family if name in STRATEGIES else name


def manner(name: str) -> str:
    return STRATEGIES[name].manner if name in STRATEGIES else ""


def title(name: str) -> str:
    """ "AS6 (monotonic, virtual wink)"."""
    if name not in STRATEGIES:
        return name
    return f"{name} ({', '.join(filter(None, (family(name), manner(name))))})"


def families(names: Iterable[str]) -> list[tuple[str, list[str]]]:
    """The names in order, neighbours of one family together."""
    families: list[tuple[str, list[str]]] = []
    for name in names:
        if families and families[-1][0] == family(name):
            families[-1][1].append(name)
        else:
            families.append((family(name), [name]))
    return families
