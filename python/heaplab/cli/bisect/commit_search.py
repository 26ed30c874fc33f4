"""The search for the first commit that is worse: which commit to judge next, and what is known in the end.

Commits have places along a line: the first is known to be not worse, the last to be worse. A commit without
an answer, because it does not build or the machine could not tell, narrows nothing.
"""

from collections.abc import Callable
from enum import StrEnum
from itertools import pairwise

UNDECIDED_MOST = 5  # commits that took all their time and gave no answer; the search then ends


class State(StrEnum):
    WORSE = "worse"
    NOT_WORSE = "not worse"
    COULD_NOT_TELL = "could not tell"
    UNUSABLE = "unusable"  # does not build, or its runs fail


def search(last: int, state_of: Callable[[int], State]) -> tuple[int, int]:
    """The places of the last commit that is not worse and of the first that is.

    They are neighbours if one commit made the difference, as far as the commits with an answer show. Between
    others lie commits without an answer, and unseen ones if too many could not be told.
    """
    good, bad = 0, last
    blank: set[int] = set()
    undecided = 0
    while undecided < UNDECIDED_MOST and (place := next_place(good, bad, blank)) is not None:
        match state_of(place):
            case State.WORSE:
                bad = place
            case State.NOT_WORSE:
                good = place
            case state:
                blank.add(place)
                undecided += state is State.COULD_NOT_TELL
    return good, bad


def next_place(good: int, bad: int, blank: set[int]) -> int | None:
    """The middle of the longest stretch without a blank commit, so that a run of them is left, not walked."""
    edges = [good, *sorted(place for place in blank if good < place < bad), bad]
    length, start = max((after - before, before) for before, after in pairwise(edges))
    return start + length // 2 if length > 1 else None
