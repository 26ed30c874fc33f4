#!/usr/bin/env python3
"""Build a Rust program as docs/steady-counts.md says, without cargo, and look whether steady serves it.

Usage: rust.py ARCHIVE SCRATCH-FOLDER
"""

import re
import shutil
import sys
from pathlib import Path

from commands import needed, output_of

PAGE = Path(__file__).parents[2] / "docs/steady-counts.md"
PLACE = "native=/usr/local/lib"  # where the page has the archive
OPTIONS = {
    "link-search": ["-L"],
    "link-lib": ["-l"],
    "link-arg": ["-C", "link-arg="],
}  # of rustc, by what cargo reads
# A block of a class of its own, an aligned one, a zeroed one, and a vector that grows.
PROGRAM = """
#[repr(align(4096))]
struct Page([u8; 4096]);
fn main() {
    let first = Box::new([7u8; 48]);
    let page = Box::new(Page([1; 4096]));
    let zeros = vec![0u32; 5000];
    let mut grows = Vec::new();
    for i in 0..100_000u32 {
        grows.push(i);
    }
    assert!(page.0.as_ptr() as usize % 4096 == 0 && page.0[4095] == 1);
    assert!(zeros.iter().all(|&zero| zero == 0) && grows[77_777] == 77_777);
    println!("{:p}", first);
}
"""


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    archive, scratch = Path(sys.argv[1]), Path(sys.argv[2])
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    script, allocator = re.findall(r"^```rust\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    if PLACE not in script:
        sys.exit(f"{PAGE}: the build script has no {PLACE}")
    (scratch / "build.rs").write_text(script.replace(PLACE, f"native={archive.parent}"))
    output_of("rustc", "--edition", "2021", scratch / "build.rs", "-o", scratch / "build")
    options = []
    for name, value in re.findall(r"^cargo:rustc-([a-z-]+)=(.*)$", output_of(scratch / "build"), re.M):
        *before, last = OPTIONS[name]
        options += [*before, last + value]
    for name, text in (("default", PROGRAM), ("own", allocator + PROGRAM)):
        source, program = scratch / f"{name}.rs", scratch / name
        source.write_text(text)
        output_of("rustc", "--edition", "2021", "-O", "-D", "warnings", source, "-o", program, *options)
        places = {output_of(program) for _ in range(3)}
        if len(places) != 1 or not re.fullmatch(r"0x3[0-9a-f]{10}\n", min(places)):
            sys.exit(f"{name}: served by another malloc, with blocks at {sorted(places)}")
        if any("heaplab" in library for library in needed(program)):
            sys.exit(f"{name}: needs a library of heaplab, although the archive is linked")
    return 0


if __name__ == "__main__":
    sys.exit(main())
