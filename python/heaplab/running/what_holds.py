"""What holds the memory of a running process, in the words of `heaplab advise`, as far as can be known."""

from dataclasses import dataclass
from functools import cached_property

from heaplab.advise.answer import Kind
from heaplab.catalog import contents
from heaplab.running.asking import Answered
from heaplab.running.serving import Serving
from heaplab.running.smaps import BEYOND, OF_MALLOC, OPEN, MemoryLimit, Part, ProcessMemory
from heaplab.running.target import Target
from heaplab.text import units

LEAST = 1 << 20  # B: fewer are not worth a word
SHARE = 0.1  # of the memory: less is not worth a word
MOST_PARTS = 3  # that a sentence names
FEW_ARENAS = 2  # of the C library: as many as its setting of this name in the catalog leaves


@dataclass(frozen=True)
class Finding:
    """One thing that holds memory."""

    kind: Kind
    sure: bool
    bytes: int
    words: str
    beside: str = ""  # what is known of other programs, and so not of the verdict

    @property
    def sentence(self) -> str:
        return f"{self.words} ({'sure' if self.sure else 'likely'}){self.beside}"


@dataclass(frozen=True)
class Look:
    """What is known of a process."""

    of: Target
    served: Serving
    first: ProcessMemory
    last: ProcessMemory
    seconds: float  # between these two
    limit: MemoryLimit
    lost: list[str]  # children that the preloaded malloc does not serve
    answer: Answered | None = None  # of the allocator
    came_back: int | None = None  # B less after memory was to be given back

    @property
    def worth(self) -> float:
        """Bytes that are worth a word."""
        return max(LEAST, SHARE * self.last.bytes)

    @cached_property
    def by_malloc(self) -> int:
        """Resident bytes that are malloc's, at least; once it was asked, as far as that is known."""
        of_malloc, undecided = self.last.within(OF_MALLOC), self.last.within(OPEN)
        if self.answer is None:
            return of_malloc
        said = self.answer.said
        if self.served.is_c_library:
            return of_malloc + min(undecided, said.mapped)
        return min(said.held, of_malloc + undecided)

    @property
    def beyond(self) -> int:
        """Resident bytes that are surely not malloc's."""
        if self.answer is None:
            return self.last.within(BEYOND)
        return self.last.bytes - self.by_malloc

    @property
    def free(self) -> tuple[int, int]:
        """Resident bytes of malloc that no block uses, at least and at most.

        No allocator tells which bytes are resident.
        """
        said = self.answer and self.answer.said
        if not said or said.live is None or said.free is None:
            return 0, 0
        most = min(said.free, self.by_malloc)
        return max(0, min(most, self.by_malloc - said.live)), most

    @property
    def retained(self) -> int:
        return self.free[0]

    @property
    def returnable(self) -> int | None:
        """B that the allocator can give back at most."""
        said = self.answer and self.answer.said
        if not said or said.returnable is None:
            return None
        heaps = self.last.within(OF_MALLOC) if self.served.is_c_library else self.by_malloc
        return min(said.returnable, max(0, heaps - said.kept))

    @property
    def is_pinned(self) -> bool:
        """Whether blocks in use keep nearly all free memory, so that nothing comes back before they end."""
        return self.returnable is not None and self.returnable < SHARE * self.retained

    def grown(self, part: Part) -> int:
        return self.last.parts.get(part, 0) - self.first.parts.get(part, 0)


def findings_of(look: Look) -> list[Finding]:
    """All that holds memory, the most bytes first."""
    holdings = [*growing(look), *of_malloc(look), *beyond(look)]
    if not holdings or (look.answer is None and len(holdings) == len(beyond(look))):
        holdings.append(unknown(look))
    return sorted(holdings, key=lambda holding: -holding.bytes)


def growing(look: Look) -> list[Finding]:
    grown = look.last.bytes - look.first.bytes
    if grown < LEAST:
        return []
    parts = sorted(look.last.parts, key=look.grown, reverse=True)[:MOST_PARTS]
    named = [f"{size(look.grown(part))} of it {part}" for part in parts if look.grown(part) >= SHARE * grown]
    words = (
        f"growing: {size(grown)} more within {units.show(look.seconds, 's')}, "
        f"{size(60 * grown / look.seconds)} a minute; {', '.join(named)}"
    )
    return [Finding(Kind.GROWING, False, grown, words)]


def of_malloc(look: Look) -> list[Finding]:
    """Live and retained memory, as the allocator tells: the larger part first, with all figures."""
    said = look.answer and look.answer.said
    if not said or said.live is None:
        return []
    free = Kind.PINNED if look.is_pinned else Kind.RETAINED
    amounts = {Kind.LIVE: min(said.live, look.by_malloc), free: look.retained}
    heads = {
        Kind.LIVE: "live data",
        Kind.RETAINED: f"retained by {look.served.name}",
        Kind.PINNED: "pinned by blocks in use",
    }
    unused = "at least {} that no block uses"
    short = {Kind.LIVE: "{} are blocks in use", Kind.RETAINED: unused, Kind.PINNED: unused}
    ordered = sorted(
        (kind for kind in amounts if amounts[kind] >= look.worth), key=lambda kind: -amounts[kind]
    )
    return [
        Finding(
            kind,
            True,
            amounts[kind],
            f"{heads[kind]}: {short[kind].format(size(amounts[kind])) if place else malloc_part(look)}",
            fewer_arenas(look) if kind is free else "",
        )
        for place, kind in enumerate(ordered)
    ]


def malloc_part(look: Look) -> str:
    """What the allocator said, in one sentence."""
    assert look.answer
    said = look.answer.said
    assert said.live is not None
    least, most = look.free
    free = size(most) if most - least < SHARE * LEAST else f"{size(least)} to {size(most)}"
    where = f" in {units.counted(said.arenas, 'arena')}" if said.arenas else ""
    words = (
        f"of {size(look.last.bytes)} resident, {size(said.live)} are live and {free} free"
        f"{where} of {look.served.name}"
    )
    if look.returnable is not None:
        words += f", of which {look.answer.question.gives_back} can return at most {size(look.returnable)}"
    return words


def fewer_arenas(look: Look) -> str:
    """What the setting for fewer arenas was measured to do, where many arenas have free memory."""
    assert look.answer
    arenas = look.answer.said.arenas or 0
    if not look.served.is_c_library or arenas <= FEW_ARENAS:
        return ""
    settings = contents.load().allocators["glibc"].settings
    told = (each for each in settings if each.name == "few-arenas" and each.measured)
    return "".join(f"; in other programs {each.setting} was measured to {each.measured}" for each in told)


def beyond(look: Look) -> list[Finding]:
    if look.beyond < look.worth:
        return []
    words = (
        f"outside malloc: {size(look.beyond)} of {size(look.last.bytes)} resident no malloc library can "
        f"change: {beyond_parts(look)}"
    )
    return [Finding(Kind.BEYOND, True, look.beyond, words)]


def beyond_parts(look: Look) -> str:
    sizes = {str(part): look.last.parts.get(part, 0) for part in BEYOND}
    sizes["mapped by the program outside malloc"] = look.beyond - sum(sizes.values())
    ordered = sorted(sizes.items(), key=lambda item: -item[1])
    return ", ".join(f"{size(amount)} {what}" for what, amount in ordered if amount >= SHARE * look.beyond)


def unknown(look: Look) -> Finding:
    """What can be said of the rest of the memory."""
    rest = look.last.bytes - look.beyond
    if look.last.bytes < LEAST:
        return Finding(Kind.NOTHING, True, 0, f"nothing to gain: {size(look.last.bytes)} are resident")
    if look.served.malloc is None:
        return Finding(Kind.LIVE, False, rest, f"live or retained: {size(rest)}; {look.served.fault}")
    if look.answer:
        note = look.answer.said.note
        words = f"live or retained: {size(look.by_malloc)} of {look.served.name}"
        return Finding(Kind.LIVE, False, look.by_malloc, f"{words}; {note}" if note else words)
    words = (
        f"live or retained: {size(rest)} of {size(look.last.bytes)} resident; which of it is live, the "
        f"allocator alone knows: heaplab look --ask {look.of.pid}"
    )
    return Finding(Kind.LIVE, False, rest, words)


def size(count: float) -> str:
    return units.show(count, "B") if count >= 0 else f"-{units.show(-count, 'B')}"
