"""Obtains allocators through ordinary package clients, without root, into the user's cache.

Everything happens in a temporary folder beside the final one, which takes its place in one rename when the
library is there and has served a program: a folder in the cache is complete or absent.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from heaplab.catalog import locate
from heaplab.catalog.allocator_spec import Allocator, Source
from heaplab.catalog.contents import Catalog
from heaplab.catalog.locate import ObtainedLibrary
from heaplab.errors import HeaplabError
from heaplab.machine import interposition, native
from heaplab.machine.execute import environment_for
from heaplab.results.records import Arm

STEP_LIMIT_S = 1800
PROBE = "ls"  # a small program that every machine has
FETCHED = ("debian", "wheel", "crate", "runtime")  # kinds of sources that can be obtained
BUILD_TIME = "up to six minutes on two cores"  # the longest build of the catalog

Tell = Callable[[str], None]  # gets the name of each step before the step


class CannotObtainError(HeaplabError):
    """One source did not give the library; the message says why in one line."""


def here(catalog: Catalog, identifier: str) -> Arm | None:
    """The allocator as found on this machine; None if it must be obtained."""
    try:
        return locate.locate(catalog, identifier)
    except locate.NotHereError:
        return None


def is_built(allocator: Allocator) -> bool:
    """Whether the allocator would be built here from sources, which takes longer than a download."""
    source = next((source for source in allocator.sources if source.kind in FETCHED), None)
    return source is not None and source.kind == "crate" and not missing(*build_needs(source))


def build_needs(source: Source) -> list[str]:
    return ["cargo", *source.needs]


def get(catalog: Catalog, identifier: str, tell: Tell = lambda _step: None) -> Arm:
    """Return the allocator, if necessary after obtaining it. Raises HeaplabError if every source fails."""
    if library := here(catalog, identifier):
        return library
    allocator, _ = catalog.allocator(identifier)
    reasons = []
    for source in allocator.sources:
        if source.kind in FETCHED:
            try:
                return obtain(allocator, source, tell)
            except CannotObtainError as error:
                reasons.append(f"{source.kind} {source.package}: {error}")
    raise CannotObtainError("; ".join(reasons) or locate.how_to_obtain(allocator))


def obtain(allocator: Allocator, source: Source, tell: Tell) -> Arm:
    """Fetch an allocator, build it if it comes as sources, verify it, and move it into the cache."""
    final = locate.cache_folder(allocator.id, source)
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="new-", dir=final.parent) as name:
            new = Path(name) / "package"
            new.mkdir()
            fetch = FETCH[source.kind]
            version, library, sha256 = fetch(source, new, tell)
            path = library.relative_to(new).as_posix()
            ObtainedLibrary(asdict(source), version, path, sha256).write(new)
            tell("verify")
            verify(locate.describe(allocator.id, allocator, None, made(source, library, version)))
            if final.exists():
                shutil.rmtree(final)
            new.rename(final)
    except OSError as error:
        raise CannotObtainError(f"{error.filename or final}: {error.strerror}") from error
    installed = locate.find(allocator.id, source, None)
    if installed is None:
        raise CannotObtainError(f"{final}: vanished")
    return locate.describe(allocator.id, allocator, None, installed)


def made(source: Source, library: Path, version: str) -> locate.FoundLibrary:
    return locate.FoundLibrary(library, version, runtime=source if source.kind == "runtime" else None)


def verify(library: Arm) -> None:
    """Raise CannotObtainError unless a program runs with the library serving its malloc.

    A collector has told its version already.
    """
    if library.runtime:
        return
    environment = environment_for(library)
    program = interposition.resolve_program(PROBE, environment)
    if fault := interposition.fault_of_program(program, environment, library):
        raise CannotObtainError(fault)
    try:
        run([str(program), "/"], environment=environment)
    except CannotObtainError as error:
        if lacking := re.search(r"error while loading shared libraries: ([^:]+):", str(error)):
            raise CannotObtainError(f"needs {lacking[1]}, which is not on this machine") from error
        raise


def fetch_debian(source: Source, folder: Path, tell: Tell) -> tuple[str, Path, dict[str, str]]:
    """Download one package and unpack it."""
    need("dpkg-deb")
    with tempfile.TemporaryDirectory(prefix="apt-") as name:
        tell("download")
        apt(Path(name), "download", source.package)
        package = only(Path(name).glob("*.deb"), f"no package {source.package}")
        sums = pinned(source, package.name, sha256(package))
        tell("unpack")
        version = run(["dpkg-deb", "-f", str(package), "Version"]).strip()
        run(["dpkg-deb", "-x", str(package), str(folder)])
        return version, library_in(folder, source), sums


def apt(work: Path, *words: str) -> str:
    """Run apt-get in the folder; where it has no package lists, with lists of heaplab's own."""
    need("apt-get")
    command = ["apt-get", "-qq", "-o", "APT::Sandbox::User="]
    try:
        return run([*command, *words], work)
    except CannotObtainError:
        own = ["-o", f"Dir::State::Lists={work}/lists", "-o", f"Dir::Cache={work}/cache"]
        (work / "lists" / "partial").mkdir(parents=True)
        (work / "cache" / "archives" / "partial").mkdir(parents=True)
        run([*command, *own, "update"], work)
        return run([*command, *own, *words], work)


def pinned(source: Source, name: str, sha256: str) -> dict[str, str]:
    """The file and its sum, for the record. Raises CannotObtainError if the catalog pins another file."""
    if fault := source.fault_of_file(name, sha256):
        raise CannotObtainError(fault)
    return {name: sha256}


def fetch_wheel(source: Source, folder: Path, tell: Tell) -> tuple[str, Path, dict[str, str]]:
    """Download one wheel with pip and unpack it."""
    with tempfile.TemporaryDirectory(prefix="wheel-") as name:
        tell("download")
        pip = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check"]
        run([*pip, "--no-deps", "--only-binary=:all:", "-d", name, f"{source.package}=={source.version}"])
        wheel = only(Path(name).glob("*.whl"), f"no wheel {source.package}")
        sums = pinned(source, wheel.name, sha256(wheel))
        tell("unpack")
        shutil.unpack_archive(wheel, folder, "zip")
        return source.version, library_in(folder, source), sums


def fetch_crate(source: Source, folder: Path, tell: Tell) -> tuple[str, Path, dict[str, str]]:
    """Have cargo fetch the sources bundled in a crate and check their sums, then build the library."""
    needs = build_needs(source)
    if absent := missing(*needs):
        raise CannotObtainError(
            f"built from source, needs {', '.join(needs)} and {BUILD_TIME}; "
            f"{' and '.join(absent)} not on this machine"
        )
    named = f"lib{source.package.removesuffix('-sys').removeprefix('lib')}.so"
    library = folder / (source.library or named)
    with tempfile.TemporaryDirectory(prefix="crate-") as name:
        work = Path(name)
        (work / "src").mkdir()
        (work / "src" / "lib.rs").touch()
        (work / "Cargo.toml").write_text(
            '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n'
            f'[dependencies]\n{source.package} = "={source.version}"\n'
        )
        tell("download")
        run(["cargo", "vendor", "--quiet", "vendor"], work)
        sources = work / "vendor" / source.package
        vendored = json.loads((sources / ".cargo-checksum.json").read_text())
        sums = pinned(source, f"{source.package}-{source.version}.crate", vendored["package"])
        environment = os.environ | {"out": str(library), "jobs": str(os.cpu_count() or 1)}
        for number, command in enumerate(source.build, 1):
            words = " ".join(command.split())
            tell(f"build {number} of {len(source.build)}: {words[:40]}{'...' if len(words) > 40 else ''}")
            run(["sh", "-euc", command], sources, environment)
        if not library.is_file():
            raise CannotObtainError("the build made no library")
        return source.upstream or source.version, library, sums


def build_mutator(source: Source, folder: Path, tell: Tell) -> tuple[str, Path, dict[str, str]]:
    """Build the mutator of a language, from sources that heaplab has."""
    need(*source.needs, package=source.package)
    sources, program = native.mutator(source.library), folder / "acdc"
    with tempfile.TemporaryDirectory(prefix="mutator-") as name:
        work = shutil.copytree(sources, Path(name) / "sources")
        tell("build")
        for command in source.build:
            run(["sh", "-euc", command], work, os.environ | {"out": str(program)})
    return "", program, locate.sums(sources)


FETCH = {"debian": fetch_debian, "wheel": fetch_wheel, "crate": fetch_crate, "runtime": build_mutator}


def library_in(folder: Path, source: Source) -> Path:
    library = locate.first_match(folder, source.library)
    if library is None:
        raise CannotObtainError(f"there is no {source.library} in it")
    return library


def need(*programs: str, package: str = "") -> None:
    if absent := missing(*programs):
        where = f"; Debian's {package} has it" if package else ""
        raise CannotObtainError(f"{' and '.join(absent)} not on this machine{where}")


def missing(*programs: str) -> list[str]:
    return [program for program in programs if shutil.which(program) is None]


def only(paths: Iterable[Path], otherwise: str) -> Path:
    ascending = sorted(paths)
    if not ascending:
        raise CannotObtainError(otherwise)
    return ascending[0]


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def run(
    command: Sequence[str], folder: Path | None = None, environment: Mapping[str, str] | None = None
) -> str:
    """Run the command of a step, return its output. Raises CannotObtainError with its last line."""
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=STEP_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise CannotObtainError(f"{command[0]}: not done after {STEP_LIMIT_S} s") from error
    complaint = (done.stderr or done.stdout).strip().splitlines()
    preload = [line for line in complaint if "cannot be preloaded" in line]
    if done.returncode or preload:
        raise CannotObtainError(f"{command[0]}: {(preload or telling(complaint))[-1][:300]}")
    return done.stdout


def telling(lines: list[str]) -> list[str]:
    """The first line that names an error, else all lines."""
    errors = [line.strip() for line in lines if "error" in line.lower() or line.startswith("E:")]
    return errors[:1] or lines or ["failed without a word"]
