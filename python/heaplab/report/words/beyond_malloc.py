"""What malloc does not explain of a program's memory, in sentences: what it is, and what would tell more."""

from collections.abc import Sequence

from heaplab.results.records import Coverage
from heaplab.text import units

MOST = 3  # processes that are named
PART = 0.1  # of what malloc does not explain: a smaller part has no word
PARTS = {
    "mapped": "mapped by the program outside malloc",
    "stacks": "stacks of threads",
    "files": "data of its files",
    "shared": "shared memory",
}
RECORD = "heaplab record sees what that does, and heaplab compare x.trace replays it"
BUILD = "heaplab compare --arm one=./build-with-one --arm other=./build-with-another compares builds of it"


def sentences(coverages: Sequence[Coverage]) -> list[str]:
    """A sentence for each process of which enough is beyond malloc, and for each process not seen."""
    named = [process for process in coverages if process.matters or process.unseen]
    more = len(named) - MOST
    beyond = [f"{units.counted(more, 'more process', 'more processes')} of that kind"] if more > 0 else []
    return [*map(sentence, named[:MOST]), *beyond]


def sentence(of: Coverage) -> str:
    if of.unseen:
        return f"{of.unseen}; nothing of its {size(of.memory) if of.memory else 'memory'} is known here"
    said = (
        f"malloc explains {size(of.by_malloc)} of the {size(of.memory)} of {of.program}; "
        f"{size(of.beyond)} no malloc library can change: {parts(of)}"
    )
    return f"{said}; {told}" if (told := what_would_tell(of)) else said


def parts(of: Coverage) -> str:
    """What the memory beyond malloc is, the largest part first."""
    sizes = {words: getattr(of, name) for name, words in PARTS.items()}
    ordered = sorted(sizes.items(), key=lambda part: -part[1])
    said = [f"{size(amount)} {words}" for words, amount in ordered if amount > PART * of.beyond]
    return ", ".join(
        [*said, *([f"{size(of.huge)} of it in huge pages"] if of.huge > PART * of.beyond else [])]
    )


def what_would_tell(of: Coverage) -> str:
    """What the user can do about memory mapped by the program; "" about other parts."""
    if 2 * of.mapped < of.beyond:
        return ""
    if of.program.startswith("python"):
        return "PYTHONMALLOC=malloc gives Python's own arenas to malloc"
    if of.mallocs:
        return f"{compiled_in(of.mallocs)}: {RECORD}; {BUILD}"
    return f"its file names no malloc that is known here; {BUILD}"


def compiled_in(mallocs: Sequence[str]) -> str:
    return f"its file has {' and '.join(mallocs)} under names of its own"


def not_sure(coverages: Sequence[Coverage]) -> str:
    """Why no answer about this program is sure, in a sentence; "" if malloc explains enough of its memory."""
    memory = sum(process.memory for process in coverages)
    whole = Coverage(program="", memory=memory, by_malloc=sum(process.by_malloc for process in coverages))
    if not whole.is_most_beyond:
        return ""
    return f"Not sure: malloc explains only {size(whole.by_malloc)} of {size(memory)}."


def size(count: int) -> str:
    return units.show(count, "B")
