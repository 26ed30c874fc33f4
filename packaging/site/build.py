#!/usr/bin/env python3
"""Build the site: the pages of this repository, and a reference made from its sources.

The pages stay where they are and are not changed for the site. What a page leads to comes with it: other
pages, pictures, packed results, and source files and folders as pages that show them. Pictures that a page
names and the repository does not show are drawn (research/site_pictures.py). A warning of Sphinx, such as a
link to no heading, ends the build.
Example: packaging/site/build.py out/site
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import cxx_reference
import python_reference

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path.append(str(ROOT / "research"))
import reproduction  # noqa: E402
import site_pictures  # noqa: E402

FIRST = ROOT / "README.md"
# Pages that have others below them in the margin.
INDEXED = {
    ROOT / "docs/decisions/README.md": ["[0-9]*"],
    ROOT / "docs/archive/README.md": ["latency-*", "scalloc-*"],
    ROOT / "docs/reproduction.md": ["reproduction/*"],
}
AS_THEY_ARE = (".png", ".svg", ".webp", ".xz")
LINK = re.compile(r"(?<=\]\()([\w./-]*\w)(?=(?:#[\w-]*)?\))")
INCLUDED = re.compile(r'^#include "(heaplab/local/\w+[.]h)"', re.MULTILINE)
LIST_OF_LINKS = re.compile(r"(?:^- \[.*\n(?:  .*\n)*)+", re.MULTILINE)
LEXERS = {".toml": "toml", ".yml": "yaml", ".py": "python", ".h": "cpp", ".cpp": "cpp"}


def reachable() -> set[Path]:
    """The files and folders to which links lead, from the first page on."""
    found, ahead = set(), {FIRST}
    while ahead:
        path = ahead.pop()
        found.add(path)
        if path.suffix == ".md":
            targets = {(path.parent / link).resolve() for link in LINK.findall(path.read_text())}
            ahead |= {target for target in targets if target.exists()} - found
    return found


def place(path: Path) -> Path:
    """Where the site has what stands at `path` in the repository."""
    if path == FIRST:
        return Path("index.md")
    relative = path.relative_to(ROOT)
    return relative if path.suffix in (".md", *AS_THEY_ARE) else Path(f"files/{str(relative).lstrip('.')}.md")


def text_of(path: Path) -> str:
    if path.is_dir():
        entries = sorted(each.name + "/" * each.is_dir() for each in path.iterdir())
        return f"# {path.relative_to(ROOT)}\n\n" + "".join(f"- `{entry}`\n" for entry in entries)
    text = path.read_text()
    if path.suffix != ".md":
        return f"# {path.relative_to(ROOT)}\n\n````{LEXERS.get(path.suffix, 'text')}\n{text}````\n"
    text = site_pictures.shown(with_links_met(text, path))
    if path == FIRST:
        return first_page(text)
    if path == ROOT / "docs/results-format.md":
        return python_reference.with_types(text)
    if path in INDEXED:
        return text + toctree("", INDEXED[path])
    return text


def with_links_met(text: str, path: Path) -> str:
    def met(link: re.Match[str]) -> str:
        target = (path.parent / link[1]).resolve()
        return os.path.relpath(place(target), place(path).parent) if target.exists() else link[1]

    return LINK.sub(met, text)


def first_page(text: str) -> str:
    """What stands before the first section as a banner, and lists of links as cards."""
    banner, _, rest = text.partition("\n## ")
    title, _, banner = banner.partition("\n")
    rest = LIST_OF_LINKS.sub(r"````{container} cards\n\g<0>````\n", rest)
    contents = tomllib.loads((HERE / "contents.toml").read_text())
    trees = "".join(toctree(caption, pages) for caption, pages in contents.items())
    return f"{title}\n\n`````{{container}} banner\n{banner}\n`````\n\n## {rest}{trees}"


def toctree(caption: str, pages: list[str]) -> str:
    options = f":hidden:\n:glob:\n:caption: {caption}\n" if caption else ":hidden:\n:glob:\n"
    return f"\n```{{toctree}}\n{options}\n" + "".join(f"{page}\n" for page in pages) + "```\n"


def reference() -> dict[str, str]:
    include = ROOT / "include"
    introduction = (
        "Programs include `<heaplab/local/local.h>`, which includes the headers below. All names are in the "
        "namespace `heaplab::local`. How to choose, with examples: "
        "[local allocators](../docs/local-allocators.md)."
    )
    local, llheap = "heaplab/local/local.h", "heaplab/llheap.h"
    headers = INCLUDED.findall((include / local).read_text())
    design = "How the allocator works: [its design](../src/allocators/llheap/DESIGN.md)."
    return {
        "reference/local.md": cxx_reference.page(include, "heaplab::local", introduction, local, headers),
        "reference/llheap.md": cxx_reference.page(include, "llheap.h", design, llheap, [llheap]),
        "reference/load.md": python_reference.load_page(),
    }


def write_pages(folder: Path) -> None:
    for path in reachable():
        target = folder / place(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.suffix in AS_THEY_ARE:
            shutil.copy(path, target)
        else:
            orphan = "---\norphan: true\n---\n" if target.is_relative_to(folder / "files") else ""
            target.write_text(orphan + text_of(path))
    for name, drawn in reproduction.pictures().items():
        (folder / "docs/reproduction" / name).write_text(drawn)
    for name, text in reference().items():
        target = folder / name
        target.parent.mkdir(exist_ok=True)
        target.write_text(text)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("output", type=Path)
    output = parser.parse_args().output
    with tempfile.TemporaryDirectory() as name:
        pages, built = Path(name) / "pages", Path(name) / "site"
        write_pages(pages)
        command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-j", "auto"]
        command += ["-c", str(HERE), "-d", f"{name}/doctrees", str(pages), str(built)]
        if subprocess.run(command, check=False).returncode:
            raise SystemExit("packaging/site/build.py: mend what the warnings name")
        shutil.rmtree(output, ignore_errors=True)
        output.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(built, output, ignore=shutil.ignore_patterns(".buildinfo", "objects.inv"))


if __name__ == "__main__":
    main()
