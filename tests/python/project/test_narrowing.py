"""src/allocators/.clang-tidy finds every cast that may cut an address or a distance."""

from pathlib import Path

import pytest
from subprocesses import ran, written

ROOT = Path(__file__).parents[3]
RULE = "src/allocators/.clang-tidy"


def found_in(root: Path, line: str) -> bool:
    """Whether clang-tidy refuses a source of src/allocators that holds the line."""
    source = f"using size = unsigned long;\nusing narrow = unsigned;\n{line}\n"
    written(root, {RULE: (ROOT / RULE).read_text(), "src/allocators/heap/library.cpp": source})
    words = ["clang-tidy", "--quiet", "--experimental-custom-checks", "--warnings-as-errors=custom-*"]
    result = ran(*words, root / "src/allocators/heap/library.cpp", "--", "-std=c++20")
    assert ("narrowing-cast" in result.stdout) == (result.returncode != 0), result.stdout + result.stderr
    return result.returncode != 0


@pytest.mark.parametrize(
    "line",
    [
        "narrow cut(const char* a, const char* b) { return static_cast<narrow>(a - b); }",
        "int cut(size a, size b) { return (int)(a - b); }",
        "unsigned short cut(const size a) { return (unsigned short)a; }",
        "template <class Span> narrow cut(Span& s) { return static_cast<narrow>(s.distance()); }",
        "template <class Span> struct cut { char* base; narrow of(char* a) { return narrow(a - base); } };",
    ],
)
def test_a_cast_that_may_cut_a_distance_is_found(tmp_path: Path, line: str) -> None:
    assert found_in(tmp_path, line)


@pytest.mark.parametrize(
    "line",
    [
        "size keeps(const char* a, const char* b) { return static_cast<size>(a - b); }",
        "short cuts_a_number_of_32_bits(narrow a) { return static_cast<short>(a); }",
        "bool tells(size a) { return static_cast<bool>(a); }",
    ],
)
def test_other_casts_are_let_pass(tmp_path: Path, line: str) -> None:
    assert not found_in(tmp_path, line)
