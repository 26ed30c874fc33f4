"""Which call sites are proposed, and what is estimated of them, on censuses whose answer is known."""

from types import SimpleNamespace

import pytest

from heaplab.advise.census import Census, Holding
from heaplab.advise.what_if import estimate, proposed

BLOCK = 64  # B
SURVIVORS, MOST = 10, 1000  # blocks


def census(*together: int, unknown: bool = False) -> Census:
    """Of `together`, number n is what the first n sites hold in common and no others. Site 0: unknown."""
    first = 0 if unknown else 1
    holdings = tuple(
        Holding(number, SURVIVORS, SURVIVORS * BLOCK, 0, 0, held, 0, 0)
        for number, held in enumerate(together, first)
    )
    return Census("end", 0, 0, 0, 0, 0, 0, 1_000_000, 0, 0, holdings)


@pytest.mark.parametrize(
    ("together", "sites"),
    [
        ((900_000, 950_000), (1,)),
        ((400_000, 850_000, 900_000), (1, 2)),
        ((100_000, 200_000, 300_000, 900_000), (1, 2, 3)),
    ],
)
def test_the_fewest_sites_that_hold_most_are_proposed(
    together: tuple[int, ...], sites: tuple[int, ...]
) -> None:
    assert proposed(census(*together)) == sites


def test_an_unknown_site_is_not_proposed() -> None:
    assert proposed(census(400_000, 900_000, unknown=True)) == (1,)


def test_what_the_survivors_pin_in_their_own_heap_is_no_gain() -> None:
    """64 blocks lie in a page, of which 1 in 100 survives: 1 - 0.99^64 of the pages stay."""
    profile = SimpleNamespace(sites=[SimpleNamespace(number=1, most_blocks=MOST, most_bytes=MOST * BLOCK)])
    stays = int(MOST * BLOCK * (1 - 0.99**64))
    assert estimate(census(400_000), (1,), profile) == 400_000 - (stays - SURVIVORS * BLOCK)


def test_sites_whose_pages_others_pin_too_are_estimated_at_nothing() -> None:
    profile = SimpleNamespace(sites=[])
    assert estimate(census(400_000, 900_000), (2,), profile) == 0
