"""docs/scalloc-paper.md: the paper's numbers computed from its rules, and ours from the printed table."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
KIB, MIB = 1 << 10, 1 << 20
HEADER, FINE_SPAN, PAGE = 128, 32 * KIB, 4 * KIB
FINE = list(range(16, 257, 16))
COARSE = [2**power for power in range(9, 21)]


def table() -> dict[str, tuple[str, str]]:
    """The rows of the page: what the paper has, and what is here."""
    rows = re.findall(
        r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|", (ROOT / "docs/scalloc-paper.md").read_text(), re.MULTILINE
    )
    return {name: (paper, here) for name, paper, here in rows}


def printed() -> dict[int, tuple[int, int]]:
    """By the bytes of a block: blocks in a span, and bytes of the real span, as compiled."""
    page = (ROOT / "docs/scalloc-size-classes.md").read_text().partition("## scalloc-paper")[2]
    rows = re.findall(r"^\| (\d+) \| (\d+) \| (\d+) \|", page, re.MULTILINE)
    return {int(block): (int(blocks), int(span) * KIB) for block, blocks, span in rows}


def real_span(blocks: int, block: int) -> int:
    """Whole pages for a header and the blocks."""
    return -(-(HEADER + blocks * block) // PAGE) * PAGE


def test_blocks_in_a_fine_span_are_what_its_header_leaves() -> None:
    for block in FINE:
        assert printed()[block] == ((FINE_SPAN - HEADER) // block, FINE_SPAN)
    for block in (16, 256):
        blocks = str((FINE_SPAN - HEADER) // block)
        assert table()[f"blocks of {block} B in a span"] == (blocks, blocks)


def test_coarse_spans_hold_a_header_and_their_blocks() -> None:
    for block in COARSE:
        blocks, span = printed()[block]
        assert span == real_span(blocks, block)
    of_512 = f"{real_span(64, 512) // KIB} KiB"
    assert table()["real span of 512 B blocks"] == (of_512, of_512)


def test_classes_and_sizes_are_counted() -> None:
    assert [*printed()] == FINE + COARSE
    assert table()["size classes"] == ("29", str(len(FINE + COARSE)))
    assert table()["sizes of real spans"] == ("9", str(len({span for _, span in printed().values()})))


def test_what_is_returned_is_what_is_larger_than_a_fine_span() -> None:
    returned = sum(span > FINE_SPAN for _, span in printed().values())
    assert table()["classes whose free spans are returned"] == (str(len(COARSE)), str(returned))


def test_knobs_of_the_variant_are_those_of_the_table() -> None:
    """What variants.h has for the paper's arrangement, or config.h for every variant."""
    policy = ROOT / "src/allocators/scalloc/policy"
    variants = (policy / "variants.h").read_text().partition("constexpr config paper() {")[2]
    text = variants.partition("\n}\n")[0] + (policy / "config.h").read_text()

    def knob(name: str) -> str:
        found = re.search(rf"\b{name} = ([^;,]+)[;,]", text)
        assert found, name
        return found[1].replace(" * tib", " TiB").replace(" * mib", " MiB")

    here = {name: ours for name, (_, ours) in table().items()}
    assert here["address space"] == knob("arena_bytes")
    assert here["virtual span"] == knob("fine_span_bytes")
    assert here["largest block of a span"] == knob("span_block_limit")
    assert here["header of a span"] == f"{knob('span_header_bytes')} B"
    assert here["reusable above"] == f"{knob('reuse_percent')} %"
    assert (knob("guards_tails"), knob("searches_from_first")) == ("true", "true")
