"""The file of a sampled process is read as its C++ description says."""

import subprocess
from pathlib import Path

import numpy as np

from heaplab.traces import sampled_process

ROOT = Path(__file__).parents[3]
LAID_OUT = """
#include <cstddef>
#include "trace/raw/raw_file.h"
using namespace heaplab::trace;
"""


def test_records_are_where_their_description_puts_them(tmp_path: Path) -> None:
    records = {
        "raw_header": (sampled_process.HEADER, {"aligned"}),
        "raw_moment": (sampled_process.MOMENT, set()),
        "raw_chunk": (sampled_process.CHUNK, set()),
        "raw_site": (sampled_process.SITE, set()),
        "raw_live_block": (sampled_process.BLOCK, set()),
        "raw_bucket": (sampled_process.BUCKET, set()),
    }
    asked = [
        f"static_assert(offsetof({record}, {name}) == {offset_of(layout, name)});"
        for record, (layout, unnamed) in records.items()
        for name in set(layout.names or ()) - unnamed
    ]
    (tmp_path / "x.cpp").write_text(LAID_OUT + "\n".join(asked))
    included = [word for folder in ("src", "include") for word in ("-I", ROOT / folder)]
    words = ["c++", "-std=c++20", "-fsyntax-only", "-Wno-invalid-offsetof", *included, "x.cpp"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def offset_of(layout: "np.dtype[np.void]", name: str) -> int:
    assert layout.fields
    return int(layout.fields[name][1])
