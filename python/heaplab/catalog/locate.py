"""Finds an allocator on this machine and describes exactly what was found."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

import platformdirs

from heaplab.catalog.allocator_spec import Allocator, Source, Variant
from heaplab.catalog.contents import Catalog, joined
from heaplab.errors import HeaplabError, UsageError
from heaplab.files import regular_file
from heaplab.machine import native
from heaplab.machine.preload_paths import loadable

if TYPE_CHECKING:
    from heaplab.results.records import Arm

LOADER_FOLDERS = ("/lib", "/usr/lib", "/usr/local/lib", "/lib64", "/usr/lib64")
OBTAINED: Final = "obtained.json"


class NotHereError(HeaplabError):
    """The allocator is known but not on this machine (yet)."""


class UnsafeHereError(NotHereError):
    """The allocator is known to fail on this kernel."""


@dataclass(frozen=True)
class ObtainedLibrary:
    """The file `obtained.json`, which `heaplab get` writes beside a library that is complete."""

    source: dict[str, Any]  # the fields of a Source
    version: str
    library: str  # path below the folder of this file
    sha256: dict[str, str]  # of the downloaded files, by name

    @classmethod
    def beside(cls, folder: Path) -> Self | None:
        """None without the file, or with a damaged one: the library is not complete."""
        try:
            obtained = cls(**json.loads(regular_file.content_of(folder / OBTAINED)))
        except (UsageError, ValueError, TypeError, RecursionError):
            return None
        return obtained if isinstance(obtained.library, str) and isinstance(obtained.version, str) else None

    def write(self, folder: Path) -> None:
        (folder / OBTAINED).write_text(json.dumps(asdict(self), indent=2) + "\n")


class FoundLibrary(NamedTuple):
    path: Path | None  # None: the C library's own malloc, nothing to preload
    source_version: str = ""
    package: str = ""  # the Debian package that tells the version
    runtime: Source | None = None  # whose program this is, if it is no library

    @property
    def version(self) -> str:
        return debian_versions().get(self.package, "") if self.package else self.source_version


def locate(catalog: Catalog, name: str) -> Arm:
    """Return the allocator NAME or NAME-VARIANT as found on this machine.

    Raises UsageError for an unknown name or a file that cannot be preloaded, NotHereError if no source of
    the allocator has a library on this machine.
    """
    allocator, variant = catalog.allocator(name)
    refuse_unsafe(name, allocator)
    _, library = find_first(name, allocator, variant)
    return describe(name, allocator, variant, library)


def is_here(catalog: Catalog, name: str) -> bool:
    """Whether the allocator is on this machine and may be used."""
    try:
        found_here(catalog, name)
    except HeaplabError:
        return False
    return True


def found_here(catalog: Catalog, name: str) -> FoundLibrary:
    """Return the library of the allocator as `locate` finds it, quickly; raises what `locate` raises.

    Only a file of the user's is read: the others were checked by the package, by `heaplab get` or by
    heaplab's own build.
    """
    allocator, variant = catalog.allocator(name)
    refuse_unsafe(name, allocator)
    source, library = find_first(name, allocator, variant)
    if source.kind == "system" and library.path:
        from heaplab.machine import elf

        elf.check_allocator(library.path)
    return library


def refuse_unsafe(name: str, allocator: Allocator) -> None:
    """Raise UnsafeHereError if the allocator is known to fail on this kernel."""
    if fault := fault_on_kernel(allocator, platform.release()):
        raise UnsafeHereError(f"{name}: {fault}")


def fault_on_kernel(allocator: Allocator, release: str) -> str:
    """Why the allocator must not be used on this release of Linux, in one line; "" if nothing is known."""
    unsafe = allocator.unsafe
    if unsafe is None or version_of(release) < version_of(unsafe.kernel):
        return ""
    return f"not on Linux {unsafe.kernel} and later, this is {release}: {unsafe.why}"


def version_of(release: str) -> tuple[int, ...]:
    """ "6.19.3-amd64" -> (6, 19)."""
    match = re.match(r"(\d+)\.(\d+)", release)
    return (int(match[1]), int(match[2])) if match else ()


def find_first(name: str, allocator: Allocator, variant: Variant | None) -> tuple[Source, FoundLibrary]:
    """Return the first source with a library on this machine, and the library. Else raises NotHereError."""
    for source in allocator.sources:
        if library := find(allocator.id, source, variant):
            return source, library
    raise NotHereError(f"{name}: not on this machine; {how_to_obtain(allocator)}")


def how_to_obtain(allocator: Allocator) -> str:
    kinds = {source.kind for source in allocator.sources}
    if kinds & {"debian", "wheel", "crate", "runtime"}:
        return f"obtain it with: heaplab get {allocator.id}"
    if "heaplab" in kinds:
        return "it is built with heaplab itself, and this build has it not"
    return f"no file {allocator.sources[0].library}"


def find(identifier: str, source: Source, variant: Variant | None) -> FoundLibrary | None:
    library = (variant.library if variant else "") or source.library
    match source.kind:
        case "system":
            return find_in_system(library)
        case "heaplab":
            path = native.library(library or identifier)
            return FoundLibrary(path) if path else None
        case "debian" if path := first_match(Path("/"), library):
            return FoundLibrary(path, package=source.package)
    folder = cache_folder(identifier, source)
    obtained = ObtainedLibrary.beside(folder)
    if obtained is None or any(source.fault_of_file(*file) for file in obtained.sha256.items()):
        return None
    if source.kind == "runtime":
        current = obtained.sha256 == sums(native.mutator(source.library))
        return FoundLibrary(folder / obtained.library, runtime=source) if current else None
    path = first_match(folder, variant.library) if variant and variant.library else folder / obtained.library
    return FoundLibrary(path, obtained.version) if path and path.is_file() else None


def sums(folder: Path) -> dict[str, str]:
    """The sums of the files in a folder by name."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def find_in_system(library: str) -> FoundLibrary | None:
    if not library:
        return FoundLibrary(None, platform.libc_ver()[1])
    if "/" in library:
        return FoundLibrary(Path(library))
    folders = [*LOADER_FOLDERS, *(f"{top}/{platform.machine()}-linux-gnu" for top in LOADER_FOLDERS[:2])]
    paths = (Path(folder) / library for folder in folders)
    return next((FoundLibrary(path) for path in paths if path.is_file()), None)


def first_match(folder: Path, pattern: str) -> Path | None:
    matches = sorted(folder.glob(pattern.replace("{machine}", platform.machine())))
    return matches[-1] if matches else None


@cache
def debian_versions() -> dict[str, str]:
    """The versions of all installed Debian packages by name: asking for one takes as long as for all."""
    command = ["dpkg-query", "-W", "-f", "${Package} ${Version}\n"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except OSError:
        return {}
    return dict(line.split(" ", 1) for line in answer.splitlines())


def user_cache() -> Path:
    """The folder for files that heaplab keeps for the next time and could obtain again."""
    return Path(os.environ.get("HEAPLAB_CACHE") or platformdirs.user_cache_dir("heaplab"))


def cache_folder(identifier: str, source: Source) -> Path:
    """The folder for the library from one source, complete if it has `obtained.json`."""
    version = f"-{source.version}" if source.version else ""
    return user_cache() / "allocators" / identifier / f"{source.kind}-{source.package}{version}"


def describe(name: str, allocator: Allocator, variant: Variant | None, library: FoundLibrary) -> Arm:
    from heaplab.machine import elf
    from heaplab.results.records import Arm

    environment = joined(allocator.environment, variant.environment if variant else {})
    if library.runtime and library.path:
        title = variant.title if variant else allocator.title
        return collector(name, title, environment, library.runtime, library.path)
    preload: list[Path] = []
    if library.path:
        elf.check_allocator(library.path)
        preload = [library.path.resolve()]  # as /proc/PID/maps and dladdr will name it
        if allocator.library_path:
            environment = environment | {"LD_LIBRARY_PATH": str(library.path.parent)}
        loadable(str(preload[0]))  # raises UsageError if the library cannot be preloaded
    return Arm(
        allocator=name,
        title=variant.title if variant else allocator.title,
        version=library.version,
        preload=[str(path) for path in preload],
        environment=environment,
        beside=native.beside(environment),
        sha256={str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in preload},
        build_id={str(path): elf.build_id(path) for path in preload},
        huge_pages=variant.huge_pages if variant else None,
    )


def collector(name: str, title: str, environment: dict[str, str], source: Source, program: Path) -> Arm:
    """The arm of a collector. Its own word about itself, under the arm's settings, is its version.

    Raises NotHereError without the language, UsageError for settings that its runtime refuses.
    """
    from heaplab.machine.execute import environment_for
    from heaplab.results.records import Arm

    command = [word.format(out=program, folder=program.parent) for word in source.command]
    if shutil.which(command[0]) is None:
        raise NotHereError(f"{name}: {command[0]} is not on this machine; Debian's {source.package} has it")
    arm = Arm(
        allocator=name,
        title=title,
        version="",
        preload=[],
        environment=environment,
        sha256={str(program): hashlib.sha256(program.read_bytes()).hexdigest()},
        build_id={},
        runtime=command,
    )
    asked = subprocess.run(
        [*command, "--version"], env=environment_for(arm), capture_output=True, text=True, check=False
    )
    if asked.returncode:
        said = [line for line in (asked.stdout + asked.stderr).splitlines() if "Picked up" not in line]
        raise UsageError(f"{name}: {said[0] if said else f'{command[0]} ends with {asked.returncode}'}")
    return arm.model_copy(update={"version": asked.stdout.strip()})
