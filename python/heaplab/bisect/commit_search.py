"""The searches for the first worse commit and for every one: which commit is judged next, when a search ends.

Commits have places along a line: the first is known to be not worse, the last to be worse. A blank commit has
no answer, because it does not build or the machine could not tell; it does not narrow the search.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise

UNDECIDED_MOST = 5  # the search ends after so many commits that the machine could not judge


class State(StrEnum):
    WORSE = "worse"
    NOT_WORSE = "not worse"
    COULD_NOT_TELL = "could not tell"
    UNUSABLE = "unusable"  # does not build, or its runs fail


def search(last: int, state_of: Callable[[int], State]) -> tuple[int, int]:
    """The places of the last commit known to be not worse and of the first known to be worse.

    They are neighbours where the search found the commit that made the difference. Otherwise blank commits
    lie between them, and unseen commits if UNDECIDED_MOST ended the search.
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


Stretch = tuple[int, int]  # the places of two commits


@dataclass
class Stretches:
    """The stretches of a line that end worse than they begin, as short as a search got them.

    A stretch of two neighbours is a commit. The search did not look into a stretch of `untold`.
    """

    worse: list[Stretch] = field(default_factory=list)
    untold: list[Stretch] = field(default_factory=list)


def search_all(last: int, state_of: Callable[[int, int], State]) -> Stretches:
    """Halve the line and each half that ends worse than it begins. The line itself is known to.

    What is worse in one half and better again in the same half is not seen.
    """
    stretches, blank = Stretches(), set[int]()

    def halve(good: int, bad: int) -> None:
        undecided = 0
        while undecided < UNDECIDED_MOST and (place := next_place(good, bad, blank)) is not None:
            state = state_of(good, place)
            if state in (State.WORSE, State.NOT_WORSE):
                take(good, place, state)
                take(place, bad, state_of(place, bad))
                return
            blank.add(place)
            undecided += state is State.COULD_NOT_TELL
        stretches.worse.append((good, bad))

    def take(good: int, bad: int, state: State) -> None:
        if state is State.WORSE:
            halve(good, bad)
        elif state is not State.NOT_WORSE:
            stretches.untold.append((good, bad))

    halve(0, last)
    return stretches


def next_place(good: int, bad: int, blank: set[int]) -> int | None:
    """The middle of the longest stretch without a blank commit: neighbours of blank commits come last."""
    edges = [good, *sorted(place for place in blank if good < place < bad), bad]
    length, start = max((after - before, before) for before, after in pairwise(edges))
    return start + length // 2 if length > 1 else None
