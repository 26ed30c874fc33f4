"""What a plan carries for its nodes: libraries of the arms, and wheels. Each is verified before its use.

A library lies below `bundle/` under the hash of its content. `bundle/files.json` lists all files, and its own
hash stands in the plan. If an arm has several builds, a node takes the build for its architecture that needs
the newest C library which the node still has.
"""

import hashlib
import platform
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

from pydantic import ValidationError

from heaplab.cluster.plan_folder import HASH_SHOWN, Plan
from heaplab.errors import UsageError, fault_of
from heaplab.files import regular_file
from heaplab.machine import elf, native
from heaplab.results.records import Arm, Record

FOLDER = "bundle"
LIST = "files.json"
WHEELS = "wheels"
FORMAT: Final = 1


class BundledLibrary(Record):
    arm: str
    path: str  # below the folder of the bundle
    sha256: str
    version: str
    architecture: str
    glibc: tuple[int, ...]


class BundledWheel(Record):
    path: str
    sha256: str


class BundleList(Record):
    """The content of files.json."""

    format: Literal[1] = FORMAT
    libraries: list[BundledLibrary]
    wheels: list[BundledWheel]


def make(plan: Path, arms: Iterable[Arm], builds: Mapping[str, Sequence[Path]], wheels: Path | None) -> str:
    """Bundle the libraries of arms and further builds of them, and all wheels of a folder; return the hash.

    Heaplab's own libraries come with its wheel. Nothing is left behind where a file cannot be had. Raises
    UsageError for a file that no node could use.
    """
    own = native.root().resolve()
    every = [(arm.allocator, Path(path), arm.version) for arm in arms for path in arm.preload]
    outside = [(name, path, version) for name, path, version in every if not path.is_relative_to(own)]
    outside += [(name, path, "") for name, paths in builds.items() for path in paths]
    files = sorted(wheels.glob("*.whl")) if wheels else []
    if wheels and not any(path.name.startswith("heaplab-") for path in files):
        raise UsageError(f"{wheels}: no wheel of heaplab there")
    described = [(name, path, version, elf.build_of(path)) for name, path, version in outside]
    if not (described or files):
        return ""
    folder = plan / FOLDER
    try:
        listed = BundleList(
            libraries=[
                BundledLibrary(
                    arm=name,
                    version=version,
                    architecture=build.architecture,
                    glibc=build.glibc,
                    **kept(path, folder),
                )
                for name, path, version, build in described
            ],
            wheels=[BundledWheel(**kept(path, folder, WHEELS)) for path in files],
        )
        text = listed.model_dump_json(indent=1) + "\n"
        (folder / LIST).write_text(text, encoding="utf-8")
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise UsageError(f"{error.filename or folder}: {error.strerror}") from error
    return hashlib.sha256(text.encode()).hexdigest()


def kept(path: Path, folder: Path, below: str = "") -> dict[str, str]:
    """Copy a file into the bundle, under its name, which pip needs; return its path there and its hash."""
    content = regular_file.content_of(path)
    digest = hashlib.sha256(content).hexdigest()
    target = folder / (below or f"libraries/{digest[:HASH_SHOWN]}") / path.name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    return {"path": target.relative_to(folder).as_posix(), "sha256": digest}


def bundled(plan: Plan) -> BundleList:
    """The files in the bundle of a plan. Raises UsageError if the list is not the planned one."""
    if not plan.file.bundle:
        return BundleList(libraries=[], wheels=[])
    path = plan.folder / FOLDER / LIST
    content = regular_file.content_of(path)
    if hashlib.sha256(content).hexdigest() != plan.file.bundle:
        raise UsageError(f"{path}: is not what was planned")
    try:
        return BundleList.model_validate_json(content)
    except ValidationError as error:
        raise UsageError(f"{path}: {fault_of(error, 'no list of files')}") from error


def library_for(plan: Plan, files: BundleList, arm: str) -> BundledLibrary | None:
    """The build of an arm that this node can use, verified; None if the bundle does not have the arm.

    Raises UsageError if all builds are for other nodes, or if the file was changed.
    """
    builds = [build for build in files.libraries if build.arm == arm]
    if not builds:
        return None
    fitting = [
        each for each in builds if each.architecture == platform.machine() and each.glibc <= glibc_here()
    ]
    if not fitting:
        have = ", ".join(f"{build.architecture} with glibc {dotted(build.glibc)}" for build in builds)
        raise UsageError(
            f"{arm}: the bundle has builds for {have} or later; this node is {platform.machine()} "
            f"with glibc {dotted(glibc_here())}"
        )
    best = max(fitting, key=lambda build: build.glibc)
    path = plan.folder / FOLDER / best.path
    content = regular_file.content_of(path)
    if hashlib.sha256(content).hexdigest() != best.sha256:
        raise UsageError(f"{path}: is not the file that was bundled")
    return best


def glibc_here() -> tuple[int, ...]:
    """The version of the C library; () where it is not glibc."""
    name, version = platform.libc_ver()
    return tuple(map(int, version.split("."))) if name == "glibc" else ()


def dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version)) or "none"
