"""What a change to a local allocator would look like: C++ that compiles beside the program's types."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from heaplab.subsystems.judgement import Judgement
from heaplab.subsystems.local_tables import sentence, veto_line
from heaplab.subsystems.vetoes import LocalKind, winks_out
from heaplab.traces.wrappers import first_useful, plain

# Containers of which std::pmr has a form, with their header where that has another name.
HEADERS = {
    "basic_string": "string",
    "multimap": "map",
    "multiset": "set",
    "unordered_multimap": "unordered_map",
    "unordered_multiset": "unordered_set",
}
CONTAINERS = (
    *("basic_string", "deque", "forward_list", "list", "map", "multimap", "multiset", "set", "vector"),
    *("unordered_map", "unordered_multimap", "unordered_multiset", "unordered_set"),
)
DEFAULTS = re.compile(r"std::(allocator|char_traits|less|hash|equal_to)<.*>")
BUILT_IN = re.compile(r"(unsigned |signed )?(char|short|int|long|long long|bool|float|double)( const)?\*?")
RESOURCES = {
    LocalKind.MONOTONIC: "monotonic_resource arena({{.first_chunk = {chunk}}});",
    LocalKind.BOTH: "multipool_over_monotonic_resource arena({{.arena = {{.first_chunk = {chunk}}}}});",
    LocalKind.MULTIPOOL: "multipool_resource arena;",
}
WHERE = {
    LocalKind.MULTIPOOL: "With what owns the containers, so that it outlives them; for one thread:",
    LocalKind.MONOTONIC: "In the function that outlives all blocks of an episode; each has its own:",
}


@dataclass(frozen=True)
class Type:
    """A type's name with its template's arguments."""

    name: str
    arguments: tuple["Type", ...] = ()

    @property
    def container(self) -> str:
        """Its name in std::pmr; "" if it has none."""
        return next((known for known in CONTAINERS if self.name == f"std::{known}"), "")

    @property
    def local(self) -> str:
        """With all containers that std::pmr has, and without arguments that are the defaults there."""
        if self.container == "basic_string":
            return "std::pmr::string"
        kept = [argument.local for argument in self.arguments if not DEFAULTS.fullmatch(argument.text)]
        name = f"std::pmr::{self.container}" if self.container else self.name
        return f"{name}<{', '.join(kept)}>" if kept else name

    @property
    def text(self) -> str:
        return f"{self.name}<{', '.join(a.text for a in self.arguments)}>" if self.arguments else self.name

    @property
    def is_standard(self) -> bool:
        """Whether the program's own types have no part in it."""
        known = bool(self.container or self.name.startswith("std::") or BUILT_IN.fullmatch(self.name))
        return known and all(argument.is_standard for argument in self.arguments)


def parsed(text: str) -> Type:
    """Of a demangled name."""
    text = text.replace("std::__cxx11::", "std::").replace("std::__debug::", "std::").strip()
    name, bracket, inner = text.partition("<")
    if not bracket or not text.endswith(">"):
        return Type(text)
    return Type(name, tuple(parsed(part) for part in parts(inner[:-1])))


def parts(text: str) -> Iterator[str]:
    """What stands between commas outside of brackets."""
    depth, start = 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and depth == 0:
            yield text[start:at]
            start = at + 1
    yield text[start:]


def class_of(function: str) -> str:
    """Of a member function's name without parameters, its class."""
    depth = 0
    for at in range(len(function) - 1, 0, -1):
        depth += (function[at] in ">)") - (function[at] in "<(")
        if depth == 0 and function[at - 1 : at + 1] == "::":
            return function[: at - 1]
    return ""


def containers_of(judgement: Judgement) -> list[Type]:
    """The outermost containers whose members call malloc at the subsystem's call sites.

    What is an element of another container gets its memory from that one's resource.
    """
    by_local: dict[str, Type] = {}
    for site in judgement.measured.of.group.sites:
        frames = judgement.measured.profile.frames(site)
        inner = frames[: first_useful(frames)]
        types = [parsed(class_of(plain(frame.function))) for frame in inner]
        kinds = [kind for kind in types if kind.container and kind.arguments]
        if kinds:
            by_local.setdefault(kinds[-1].local, kinds[-1])
    names = list(by_local)
    return [by_local[name] for name in names if not any(name in other for other in names if other != name)]


def text_of(judgement: Judgement) -> str:
    """A comment with the judgement, then C++; the comment alone where no change is advised."""
    return "\n".join([*comments(judgement), *code(judgement, containers_of(judgement))])


def comments(judgement: Judgement) -> list[str]:
    lines = [sentence(judgement), *map(veto_line, judgement.vetoes)]
    return [f"// {' '.join(line.split())}" for line in lines]


def code(judgement: Judgement, containers: Sequence[Type]) -> Iterator[str]:
    strategy = judgement.advice
    if strategy is LocalKind.NONE:
        return
    headers = {HEADERS.get(kind.container, kind.container) for kind in containers} | {"memory_resource"}
    yield "#include <heaplab/local/local.h>"
    yield from (f"#include <{header}>" for header in sorted(headers))
    yield ""
    yield f"// {WHERE.get(strategy, WHERE[LocalKind.MONOTONIC])}"
    of = judgement.measured.of
    chunk = of.typical_bytes if strategy is LocalKind.MONOTONIC else of.first_chunk
    resource = RESOURCES[strategy].format(chunk=chunk)
    yield f"heaplab::local::{resource}"
    for number, kind in enumerate(containers, 1):
        yield f"{kind.local} made_{number}(&arena);  // instead of {kind.text}"
        if winks_out(judgement.measured, strategy) and kind.is_standard:
            winked = f"heaplab::local::make_winked<{kind.local}>(arena)"
            yield f"auto& winked_{number} = {winked};  // or this, whose destructor never runs"
