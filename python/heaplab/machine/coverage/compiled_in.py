"""Mallocs that a program has under names of their own, as its file tells: they serve what calls them."""

import mmap
from pathlib import Path

# Bytes of a file by which a malloc is known: names of its functions in a table of symbols, each between zero
# bytes; and texts of its messages and settings, which stand in the file also after `strip`.
TRACES = {
    "jemalloc": (
        *(
            b"\0_rjem_malloc\0",
            b"\0_rjem_mallocx\0",
            b"\0_rjem_je_malloc\0",
            b"\0je_malloc\0",
            b"\0je_mallocx\0",
        ),
        *(b"<jemalloc>", b"_RJEM_MALLOC_CONF"),
    ),
    "mimalloc": (b"\0mi_malloc\0", b"\0mi_malloc_aligned\0", b"\0mimalloc: "),
    "tcmalloc": (b"\0tc_malloc\0", b"\0TCMallocInternalMalloc\0", b"TCMALLOC_SAMPLE_PARAMETER"),
    "snmalloc": (b"\0sn_malloc\0", b"\0sn_rust_alloc\0"),
    "rpmalloc": (b"\0rpmalloc\0",),
}
ANY_OF_RUST = "a global allocator of Rust's"
RUST = b"__rg_alloc\0"  # made for #[global_allocator] alone


def mallocs_in(path: str | Path) -> list[str]:
    """The mallocs in the file of a program; empty if the file does not tell. Cannot fail."""
    try:
        with (
            Path(path).open("rb") as stream,
            mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content,
        ):
            mallocs = [name for name, texts in TRACES.items() if any(content.find(t) >= 0 for t in texts)]
            return mallocs or [ANY_OF_RUST] * (content.find(RUST) >= 0)
    except (OSError, ValueError):
        return []
