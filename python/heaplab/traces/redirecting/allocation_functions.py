"""What the functions of known mallocs do: which argument is the size, which the block.

A shape is the kind of the call as in docs/trace-format.md, then the meaning of the arguments in order. `A/B`:
A where every block has the alignment that is asked for, else B. `-`: an argument that is not recorded.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

ANY, ZEROED = "malloc/aligned_alloc", "calloc/aligned_alloc"
C = {
    "malloc": "malloc size",
    "calloc": "calloc count size",
    "realloc": "realloc block size",
    "reallocarray": "reallocarray block count size",
    "free": "free block",
    "cfree": "free block",
    "free_sized": "free_sized block size",
    "free_aligned_sized": "free_aligned_sized block - size",
    "posix_memalign": "posix_memalign result alignment size",
    "aligned_alloc": "aligned_alloc alignment size",
    "memalign": "memalign alignment size",
    "valloc": "valloc size",
    "pvalloc": "pvalloc size",
}


def forms(of: Mapping[str, str], ends: Mapping[str, str]) -> dict[str, str]:
    """The forms of functions: the begins of names and of shapes, with their ends."""
    return {f"{name}{end}": f"{shape}{rest}" for name, shape in of.items() for end, rest in ends.items()}


NOTHROW, ALIGNED = "RKSt9nothrow_t", "St11align_val_t"
CXX = {
    **forms(
        {"_Znwm": "new", "_Znam": "new[]"},
        {
            "": " size",
            NOTHROW: "_nothrow size",
            ALIGNED: " size alignment",
            ALIGNED + NOTHROW: "_nothrow size alignment",
        },
    ),
    **forms(
        {"_ZdlPv": "delete", "_ZdaPv": "delete[]"},
        {
            **dict.fromkeys(("", NOTHROW, ALIGNED, ALIGNED + NOTHROW), " block"),
            **dict.fromkeys(("m", "m" + ALIGNED), "_sized block size"),
        },
    ),
}
JEMALLOC = {
    **C,
    "mallocx": f"{ANY} size flags",
    "rallocx": "realloc block size",
    "dallocx": "free block",
    "sdallocx": "free block",
}
TCMALLOC = {
    **C,
    **forms(
        {"new": "new", "newarray": "new[]"},
        {
            "": " size",
            "_nothrow": "_nothrow size",
            "_aligned": " size alignment",
            "_aligned_nothrow": "_nothrow size alignment",
        },
    ),
    **forms(
        {"delete": "delete", "deletearray": "delete[]"},
        {
            **dict.fromkeys(("", "_nothrow", "_aligned", "_aligned_nothrow"), " block"),
            **dict.fromkeys(("_sized", "_sized_aligned"), "_sized block size"),
        },
    ),
}
OF_A_HEAP = {
    "malloc": "malloc size",
    "malloc_small": "malloc size",
    "mallocn": "malloc count size",
    "calloc": "calloc count size",
    "zalloc": "calloc size",
    "zalloc_small": "calloc size",
    "malloc_aligned": f"{ANY} size alignment",
    "malloc_aligned_at": f"{ANY} size alignment",
    "zalloc_aligned": f"{ZEROED} size alignment",
    "zalloc_aligned_at": f"{ZEROED} size alignment",
    "calloc_aligned": f"{ZEROED} count size alignment",
    "calloc_aligned_at": f"{ZEROED} count size alignment",
    **forms(
        {"re": "realloc block", "rez": "realloc block", "rec": "realloc block count"},
        dict.fromkeys(("alloc", "alloc_aligned", "alloc_aligned_at"), " size"),
    ),
    "reallocn": "realloc block count size",
    "reallocf": "realloc block size",
}
MIMALLOC = {
    **C,
    **OF_A_HEAP,
    # The heap stands before the other arguments.
    **{f"heap_{name}": re.sub(" ", " - ", shape, count=1) for name, shape in OF_A_HEAP.items()},
    "free_size": "free block",
    "free_size_aligned": "free block",
    "free_aligned": "free block",
    "new": "new size",
    "new_nothrow": "new_nothrow size",
    "new_aligned": "new size alignment",
    "new_aligned_nothrow": "new_nothrow size alignment",
    "new_n": "new[] count size",
    "new_realloc": "realloc block size",
    "new_reallocn": "realloc block count size",
}
SNMALLOC = {
    **C,
    "rust_alloc": f"{ANY} alignment size",
    "rust_alloc_zeroed": f"{ZEROED} alignment size",
    "rust_dealloc": "free block",
    "rust_realloc": "realloc block - - size",
}
RUST = {
    "alloc": f"{ANY} size alignment",
    "alloc_zeroed": f"{ZEROED} size alignment",
    "dealloc": "free block",
    "realloc": "realloc block - - size",
}


class KnownMalloc(NamedTuple):
    """The functions of a malloc, under the prefixes that builds of it give them."""

    title: str
    prefixes: tuple[str, ...]
    shapes: Mapping[str, str]
    first: tuple[str, ...]  # the family is there if the program has one of these


FAMILIES = (
    KnownMalloc("a malloc of its own", ("",), {**C, **CXX}, ("malloc",)),
    KnownMalloc("jemalloc", ("je_", "_rjem_", "_rjem_je_"), JEMALLOC, ("malloc", "mallocx")),
    KnownMalloc("mimalloc", ("mi_",), MIMALLOC, ("malloc", "malloc_aligned")),
    KnownMalloc("tcmalloc", ("tc_",), TCMALLOC, ("malloc",)),
    KnownMalloc("snmalloc", ("sn_",), SNMALLOC, ("malloc", "rust_alloc")),
    KnownMalloc("rpmalloc", ("rp",), C, ("malloc",)),
    KnownMalloc("an allocator of Rust's", ("__rust_", "__rg_"), RUST, ("alloc",)),
)
# Rust 1.86 and later puts the names of its allocator's functions into a crate of its own.
OF_RUST = re.compile(r"_R\w*7___rustc\d+_(__(?:rust|rg)_\w+)")


def plain(name: str) -> str:
    """The name of a function as in the tables."""
    match = OF_RUST.fullmatch(name)
    return match[1] if match else name


def known() -> dict[str, str]:
    """The shapes of all functions, by name."""
    return {
        prefix + name: shape
        for family in FAMILIES
        for prefix in family.prefixes
        for name, shape in family.shapes.items()
    }


def shape_of(name: str, like: str) -> str | None:
    """The shape of a function that the user names: that of the C function `like`, or by its own name."""
    if like:
        return C.get(like)
    stems = (stem for stem in sorted(C, key=len, reverse=True) if name.endswith(f"_{stem}"))
    return known().get(plain(name)) or C.get(next(stems, ""))
