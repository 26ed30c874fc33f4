"""What heaplab writes into a running process, and beside it, lies where the C++ descriptions put it."""

import re
import struct
from itertools import accumulate
from pathlib import Path

import pytest
from subprocesses import ran

from heaplab.running import script
from heaplab.traces import control
from heaplab.traces.redirecting import functions_file

ROOT = Path(__file__).parents[3]
INCLUDED = "".join(
    f'#include "{header}"\n'
    for header in ("trace/raw/raw_file.h", "recorder/redirection.h", "ask/trampoline.h")
)
CONTROL = (
    *("magic", "stamps", "state", "most_bytes", "bytes", "begins_late", "stacks", "instructions", "filters"),
    *("sample_bytes", "keeper", "page_period"),
)
FUNCTION = (
    *("address", "act", "kind", "grown_kind", "small_kind", "block", "size", "count", "alignment", "flags"),
    *(
        "stores_result",
        "replaced",
        "code_bytes",
        "displacements",
        *(f"displacement[{at}]" for at in range(3)),
    ),
    *("code", "original"),
)
RECORD = ("function", *(f"arguments[{at}]" for at in range(script.ARGUMENTS)), "result", "required")

pytestmark = pytest.mark.starts_programs


def offsets(layout: struct.Struct) -> list[int]:
    """Where the fields begin, and the size of all."""
    parts = re.findall(r"(\d*)([A-Za-z])", layout.format)
    sizes = [
        size
        for count, kind in parts
        for size in ([int(count)] if kind == "s" else [struct.calcsize(f"<{kind}")] * int(count or 1))
    ]
    return [0, *accumulate(sizes)]


@pytest.mark.parametrize(
    ("of", "layout", "names", "is_whole"),
    [
        ("trace::raw_control", control.PAGE, CONTROL, False),
        ("recorder::redirection_header", functions_file.HEADER, ("magic", "device", "inode", "count"), True),
        ("recorder::redirected_function", functions_file.FUNCTION, FUNCTION, True),
        ("ask::call_record", struct.Struct(f"<{script.RECORD // script.WORD}Q"), RECORD, True),
    ],
)
def test_fields_are_where_their_description_puts_them(
    tmp_path: Path, of: str, layout: struct.Struct, names: tuple[str, ...], is_whole: bool
) -> None:
    *places, end = offsets(layout)
    asked = [f"offsetof(heaplab::{of}, {name}) == {place}" for name, place in zip(names, places, strict=True)]
    if is_whole:
        asked.append(f"sizeof(heaplab::{of}) == {end}")
    assert_compiles(tmp_path, asked)


def test_numbers_are_those_of_the_descriptions(tmp_path: Path) -> None:
    assert_compiles(
        tmp_path,
        [
            f"offsetof(heaplab::trace::raw_control, state) == {control.STATE_AT}",
            f"sizeof(heaplab::trace::raw_control) == {control.TEXTS_AT}",
            f"heaplab::recorder::redirection_magic == {functions_file.MAGIC}",
            f"heaplab::recorder::no_argument == {functions_file.NONE}",
            f"heaplab::ask::area_visitor == {script.AREA_VISITOR}",
            f"sizeof(heaplab::ask::area_sums) == {script.WORD * script.AREA_SUMS}",
        ],
    )


def assert_compiles(folder: Path, asked: list[str]) -> None:
    text = "#include <cstddef>\n" + INCLUDED + "".join(f"static_assert({each});\n" for each in asked)
    (folder / "x.cpp").write_text(text)
    included = [word for name in ("src", "include") for word in ("-I", ROOT / name)]
    words = ["c++", "-std=c++20", "-fsyntax-only", "-Wno-invalid-offsetof", *included, folder / "x.cpp"]
    done = ran(*words)
    assert done.returncode == 0, done.stderr
