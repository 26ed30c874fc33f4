"""Pictures of docs/reproduction that the site alone shows.

A page has a line for such a picture, which `make site` turns into the picture. The curves of the simulator
are drawn from coherence.csv.xz. The others were drawn from the results of an hour's campaigns, which nothing
keeps: reproduction.py packs what it draws into pictures.tar.xz, a twentieth of the size.
"""

import io
import lzma
import re
import tarfile
from collections.abc import Mapping
from pathlib import Path

PACKED = Path(__file__).with_name("pictures.tar.xz")
IN_REPOSITORY = {"scalloc-oopsla15-fig06-1.svg"}  # which a page shows wherever it is read
PICTURE = re.compile(r"!\[([^]]*)\]\(([\w-]+[.]svg)\)")
LINE = re.compile(r"^\*On the site, `([\w-]+[.]svg)`: ([^]\n]*)\*$", re.MULTILINE)


def line_for(name: str, alt: str) -> str:
    return f"*On the site, `{name}`: {alt}*"


def shown(page: str) -> str:
    """The page with its pictures instead of the lines about them."""
    return LINE.sub(r"![\2](\1)", page)


def packed() -> dict[str, str]:
    with tarfile.open(PACKED) as archive:
        files = {member.name: archive.extractfile(member) for member in archive}
        return {name: file.read().decode() for name, file in files.items() if file}


def pack(folder: Path) -> None:
    """Move the pictures of the pages in `folder` into the archive, and drop from it what no page names."""
    known = packed() if PACKED.exists() else {}
    moved: list[Path] = []

    def line(picture: re.Match[str]) -> str:
        alt, name = picture.groups()
        if name in IN_REPOSITORY:
            return picture[0]
        known[name] = (folder / name).read_text()
        moved.append(folder / name)
        return line_for(name, alt)

    texts = {page: PICTURE.sub(line, page.read_text()) for page in sorted(folder.glob("*.md"))}
    named = {name for text in texts.values() for name, _ in LINE.findall(text)}
    write({name: picture for name, picture in sorted(known.items()) if name in named})
    for page, text in texts.items():
        page.write_text(text)
    for picture in moved:
        picture.unlink()


def write(pictures: Mapping[str, str]) -> None:
    """The same pictures give the same archive."""
    with tarfile.open(PACKED, "w:xz", preset=9 | lzma.PRESET_EXTREME) as archive:
        for name, text in pictures.items():
            content = text.encode()
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
