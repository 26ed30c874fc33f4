"""A call site is named by the first caller outside allocation wrappers and containers."""

from pathlib import Path

import pytest

from heaplab.errors import UsageError
from heaplab.traces import wrappers
from heaplab.traces.symbols import Place

PROGRAM = "/usr/bin/program"


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(wrappers.VARIABLE, raising=False)
    wrappers.patterns.cache_clear()


@pytest.mark.parametrize(
    "function",
    [
        "xmalloc",
        "g_malloc0",
        "PyMem_RawMalloc",
        "sqlite3DbMallocRawNN",
        "Perl_safesysrealloc",
        "CRYPTO_zalloc",
        "operator new(unsigned long)",
        "operator new[](unsigned long, std::nothrow_t const&)",
        "std::vector<int, std::allocator<int> >::push_back(int&&)",
        "void std::vector<std::pair<int, long> >::_M_realloc_insert<int>(int&&)",
        "std::__cxx11::basic_string<char>::_M_create(unsigned long&, unsigned long)",
        "alloc::raw_vec::RawVec<T,A>::allocate_in",
        "<alloc::vec::Vec<T> as core::iter::traits::collect::FromIterator<T>>::from_iter",
        "hashbrown::raw::RawTable<T,A>::reserve_rehash",
        "__rust_alloc",
    ],
)
def test_wrappers_are_passed_over(function: str) -> None:
    assert wrappers.is_wrapper(Place(function, module=PROGRAM))


@pytest.mark.parametrize(
    "function",
    [
        "main",
        "load_configuration(std::vector<int> const&)",
        "std_like::load()",
        "(anonymous namespace)::parser::run(std::string)",
        "std::vector<int> program::read_all(char const*)",
        "Perl_sv_grow",
        "<program::Server as core::ops::Drop>::drop",
        "0x1f3f9",
        "",
    ],
)
def test_functions_of_the_program_are_not(function: str) -> None:
    assert not wrappers.is_wrapper(Place(function, module=PROGRAM))


def test_the_first_other_place_is_useful() -> None:
    stack = [
        Place("operator new(unsigned long)"),
        Place("strdup", module="/usr/lib/x86_64-linux-gnu/libc.so.6"),
        Place("read_line", module=PROGRAM),
        Place("main", module=PROGRAM),
    ]
    assert wrappers.first_useful(stack) == 2
    assert wrappers.first_useful(stack[:2]) == 0
    assert wrappers.first_useful([]) == 0


def test_further_patterns_come_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    more = tmp_path / "wrappers"
    more.write_text("pool_.*\n\nin libpool\\.so\nat .*/third_party/.*\n")
    monkeypatch.setenv(wrappers.VARIABLE, str(more))
    assert wrappers.is_wrapper(Place("pool_get", module=PROGRAM))
    assert wrappers.is_wrapper(Place("anything", module="/opt/libpool.so"))
    assert wrappers.is_wrapper(Place("anything", "/src/third_party/pool.c", 31, PROGRAM))
    assert not wrappers.is_wrapper(Place("a_pool_get", "/src/third.c", 31, PROGRAM))


@pytest.mark.parametrize("text", ["(", None])
def test_a_bad_file_is_refused_in_one_line(
    text: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = tmp_path / "wrappers"
    if text:
        more.write_text(text)
    monkeypatch.setenv(wrappers.VARIABLE, str(more))
    with pytest.raises(UsageError, match=wrappers.VARIABLE):
        wrappers.patterns()


LIBC = "/lib/x86_64-linux-gnu/libc.so.6"


@pytest.mark.parametrize(
    ("inner", "outer"),
    [
        ("main", ("__libc_start_call_main", "__libc_start_main@@GLIBC_2.34")),
        ("served", ("start_thread", "clone3")),
    ],
)
def test_a_chain_ends_where_the_program_begins(inner: str, outer: tuple[str, str]) -> None:
    places = [
        Place("xmalloc", module=PROGRAM),
        *(Place(name, module=PROGRAM) for name in ("load", inner)),
        *(Place(name, module=LIBC) for name in outer),
        *([Place("_start", module=PROGRAM)] if inner == "main" else []),
    ]
    assert [place.function for place in wrappers.useful_part(places)] == ["load", inner]


def test_of_a_stack_of_wrappers_alone_the_innermost_is_told() -> None:
    places = [Place("setlocale", module=LIBC), Place("__libc_start_main", module=LIBC)]
    assert wrappers.useful_part(places) == places[:1]
    assert wrappers.useful_part(places[1:]) == places[1:]
    assert wrappers.useful_part([]) == []
