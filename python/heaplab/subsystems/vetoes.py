"""What forbids a local allocator, and which is left: no change is the default."""

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import NamedTuple

from heaplab.subsystems.subsystem import Appraised
from heaplab.text import units

BLOW_UP = 2.0  # bytes that a monotonic allocator may hold for each live one
FEWEST_BYTES = 64 << 10  # of an episode, below which blow-up is no matter
SHARE = 0.01  # of the program's time: less is not worth a change
LARGE = 0.5  # share of blocks that would pass through a multipool
FEWEST_EPISODES = 2  # for which a multipool needs something below it that is released
FEWEST_BLOCKS = 8  # in an episode, for which a resource is worth its construction
MOST_GROWN = 0.01  # share of blocks that may come of realloc: replays allocate, copy nothing and free
MOST_OPEN = 0.5  # share of bytes in episodes that had not ended
MOST_NAMED = 3  # survivors


class LocalKind(StrEnum):
    """What serves a subsystem. The values are those of replay --apart."""

    NONE = "no change"
    MONOTONIC = "monotonic"
    MULTIPOOL = "multipool"
    BOTH = "both"

    @property
    def words(self) -> str:
        return "multipool over monotonic" if self is LocalKind.BOTH else self.value


ALL = frozenset({LocalKind.MONOTONIC, LocalKind.MULTIPOOL, LocalKind.BOTH})
BY_EPISODE = frozenset({LocalKind.MONOTONIC, LocalKind.BOTH})


class Veto(NamedTuple):
    why: str  # in words, with figures
    forbids: frozenset[LocalKind]


Rule = Callable[[Appraised], Iterator[Veto]]


def vetoes_of(measured: Appraised) -> list[Veto]:
    return [veto for rule in RULES for veto in rule(measured)]


def strategy_of(measured: Appraised) -> LocalKind:
    """The local allocator that suits what is not forbidden."""
    left = ALL.difference(*(veto.forbids for veto in vetoes_of(measured)))
    order = [LocalKind.MONOTONIC, LocalKind.BOTH, LocalKind.MULTIPOOL]
    if measured.of.episodes < FEWEST_EPISODES:
        order = [LocalKind.MONOTONIC, LocalKind.MULTIPOOL]  # nothing is given back before the end
    return next((strategy for strategy in order if strategy in left), LocalKind.NONE)


def winks_out(measured: Appraised, strategy: LocalKind) -> bool:
    """Whether destructors may be left out, where they only give memory back."""
    return strategy in BY_EPISODE and measured.of.episodes > 0


def remote(measured: Appraised) -> Iterator[Veto]:
    if count := measured.of.remote:
        share = units.percent(count / measured.of.acquired.blocks)
        yield Veto(f"other threads free {_blocks(count)} ({share})", ALL)


def grown(measured: Appraised) -> Iterator[Veto]:
    count = measured.of.growths
    if count > MOST_GROWN * measured.of.acquired.blocks:
        yield Veto(f"{_blocks(count)} came of realloc, which no local allocator has", ALL)


def survivors(measured: Appraised) -> Iterator[Veto]:
    stayed = sorted(measured.of.stayed, key=lambda row: -row.bytes)
    if stayed:
        count, in_bytes = sum(row.blocks for row in stayed), sum(row.bytes for row in stayed)
        sites = "; ".join(measured.profile.chain(row.site) for row in stayed[:MOST_NAMED])
        yield Veto(
            f"{_blocks(count)} of {units.show(in_bytes, 'B')} live on when the next episode begins: {sites}",
            BY_EPISODE,
        )


def endless(measured: Appraised) -> Iterator[Veto]:
    of = measured.of
    if of.open_bytes > MOST_OPEN * of.episode_bytes:
        share = units.percent(of.open_bytes / of.episode_bytes)
        yield Veto(f"{share} of its bytes are in episodes that never ended", BY_EPISODE)


def blown_up(measured: Appraised) -> Iterator[Veto]:
    of = measured.of
    if of.blow_up > BLOW_UP and of.typical_bytes > FEWEST_BYTES:
        yield Veto(
            f"a monotonic allocator would hold {units.show(of.blow_up, '1')} times what lives at a time",
            frozenset({LocalKind.MONOTONIC}),
        )


def large(measured: Appraised) -> Iterator[Veto]:
    of = measured.of
    if of.above_large.blocks > LARGE * of.acquired.blocks:
        share = units.percent(of.above_large.blocks / of.acquired.blocks)
        yield Veto(f"{share} of its blocks are above 4 KiB, which a multipool passes on", ALL - BY_EPISODE)
        if of.blow_up > BLOW_UP:
            yield Veto("so does a multipool over a monotonic allocator", frozenset({LocalKind.BOTH}))


def tiny(measured: Appraised) -> Iterator[Veto]:
    of = measured.of
    blocks = of.acquired.blocks / max(of.episodes, 1)
    if of.episodes and blocks < FEWEST_BLOCKS:
        yield Veto(f"an episode has {units.show(blocks, '1')} blocks", BY_EPISODE)


def unimportant(measured: Appraised) -> Iterator[Veto]:
    share = measured.share
    if share is not None and share < SHARE:
        yield Veto(f"its calls take {units.percent(share)} of the program's time", ALL)


def _blocks(count: int) -> str:
    return units.counted(count, "block")


RULES: tuple[Rule, ...] = (unimportant, remote, grown, survivors, endless, blown_up, large, tiny)
