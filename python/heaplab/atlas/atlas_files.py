"""An atlas as files: pages that open without a server and load nothing from each other."""

import hashlib
import re
from importlib import resources
from pathlib import Path

from markupsafe import Markup

from heaplab.atlas.atlas_pages import READING, AtlasSite
from heaplab.atlas.many_campaigns import Atlas
from heaplab.files.output import write_text
from heaplab.report.page import html_file

FOLDERS = {"allocator": "allocators", "workload": "workloads", "machine": "machines"}


def write(atlas: Atlas, folder: Path) -> Path:
    """Write the site; return its first page. Raises HeaplabError if a file cannot be written."""
    script = resources.files("heaplab.report").joinpath("templates/atlas.js").read_text(encoding="utf-8")
    site = AtlasSite(atlas, links_of(atlas))
    for page in site.pages():
        text = html_file.rendered("atlas.html.j2", {}, p=page, script=Markup(script), reading=READING)
        write_text(folder / page.place, text)
    return folder / "index.html"


def links_of(atlas: Atlas) -> dict[tuple[str, str], str]:
    workloads = sorted({item.workload for item in atlas.experiments.values()})
    names = {"allocator": atlas.allocators, "workload": workloads, "machine": atlas.machines}
    return {
        (kind, name): f"{FOLDERS[kind]}/{file_name(name)}.html"
        for kind, all_of in names.items()
        for name in all_of
    }


def file_name(name: str) -> str:
    """A name as part of a path. A changed name gets a hash, so that different names stay different."""
    plain = re.sub(r"[^\w.-]+", "-", name).strip("-.")
    return plain if plain == name else f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:6]}"
