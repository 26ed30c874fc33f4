"""The newest releases of packages that the catalog pins, from cargo, pip and apt."""

import json
import re
import shlex
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from heaplab.catalog import obtain
from heaplab.catalog.allocator_spec import Allocator, Source
from heaplab.catalog.obtain import CannotObtainError, Tell

PINNED = ("wheel", "crate")  # kinds of sources with a version in the catalog
PRINTED = ("address", "file", "bytes", "sum")  # the words of a line of apt-get --print-uris
Unpinned = tuple[str, str]  # a version, and what is to be said about it


def renewed(allocator: Allocator, tell: Tell) -> tuple[Allocator, list[str]]:
    """The allocator with the newest release of its first source that can be obtained, now in the cache.

    The same allocator if no release is newer. The lines say which newer release was not obtained, and why.
    """
    reasons: list[str] = []
    for place, source in enumerate(allocator.sources):
        if source.kind not in PINNED:
            continue
        try:
            tell(f"newest {source.package}")
            version = newest_version(source)
            if numbers(version) <= numbers(source.version):
                return allocator, reasons
            upstream = f"{source.package} {version}" if source.upstream else ""
            newer = replace(source, version=version, upstream=upstream, sha256={})
            sources = [newer, *allocator.sources[:place], *allocator.sources[place + 1 :]]
            newer_allocator = replace(allocator, sources=sources)
            obtain.obtain(newer_allocator, newer, tell)
        except CannotObtainError as error:
            reasons.append(f"{allocator.id}: newest {source.package} not obtained: {error}")
        else:
            return newer_allocator, reasons
    return allocator, reasons


def newest_version(source: Source) -> str:
    """The newest release on the source's registry. Raises CannotObtainError without an answer."""
    if source.kind == "wheel":
        pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--dry-run"]
        options = ["--no-deps", "--ignore-installed", "--only-binary=:all:", "--report", "-"]
        try:
            (package,) = json.loads(obtain.run([*pip, *options, source.package]))["install"]
            return str(package["metadata"]["version"])
        except (ValueError, KeyError) as error:
            raise CannotObtainError("pip named no version") from error
    obtain.need("cargo")
    with tempfile.TemporaryDirectory(prefix="newest-") as name:  # a folder without a Cargo.toml above
        said = obtain.run(["cargo", "info", "--quiet", source.package], Path(name))
    match = re.search(r"^version: (\S+)", said, re.MULTILINE)
    if match is None:
        raise CannotObtainError("cargo named no version")
    return match[1]


def news(allocator: Allocator, tell: Tell) -> list[str]:
    """A line about each package of the allocator: whether its newest release is what the catalog pins."""
    lines = []
    for source in allocator.sources:
        if source.kind in obtain.FETCHED:
            tell(f"newest {source.package}")
            version, fault = newest_debian(source) if source.kind == "debian" else newest_pinned(source)
            said = fault or "pinned, none is newer"
            lines.append(f"{allocator.id}: {source.package} {version}: {said}")
    return lines


def newest_pinned(source: Source) -> Unpinned:
    version = newest_version(source)
    return version, unpinned(source, numbers(version) > numbers(source.version) or not source.sha256)


def newest_debian(source: Source) -> Unpinned:
    """The version that apt would download. The sum that the package list has is compared."""
    with tempfile.TemporaryDirectory(prefix="newest-") as folder:
        said = obtain.apt(Path(folder), "download", "--print-uris", source.package)
    files = [words for words in map(shlex.split, said.splitlines()) if len(words) == len(PRINTED)]
    if not files:
        raise CannotObtainError("apt-get named no file")
    _, name, _, sha256 = files[0]
    version = name.split("_")[1].replace("%3a", ":")
    fault = source.fault_of_file(name, sha256.removeprefix("SHA256:"))
    return version, fault or unpinned(source, not source.pins_version_of(name))


def unpinned(source: Source, holds: bool) -> str:
    return f"new and not pinned; pinned: {', '.join(source.sha256) or 'nothing'}" if holds else ""


def numbers(version: str) -> list[int]:
    """The numbers of a version, by which versions are ordered, without the label of a build: "0.10.0+abc"."""
    return [int(number) for number in re.findall(r"\d+", version.partition("+")[0])]


def as_toml(allocator: Allocator) -> str:
    content = TypeAdapter(Allocator).dump_python(allocator, exclude={"id"}, exclude_defaults=True)
    return "".join(f"{name} = {inline(value)}\n" for name, value in content.items())


def inline(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{json.dumps(name)} = {inline(entry)}' for name, entry in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(inline, value))}]"
    return json.dumps(value)  # of text, numbers and truth values TOML has the same form
