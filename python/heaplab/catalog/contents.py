"""The catalog: allocators, workloads, experiments and suites, from heaplab's own files and the user's.

The user's folder (`~/.config/heaplab/catalog`, or `--catalog DIR`) is laid out like heaplab's own; a file
there replaces heaplab's file with the same id.
"""

from __future__ import annotations

import contextlib
import fnmatch
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import platformdirs

from heaplab.catalog import toml_file
from heaplab.catalog.allocator_spec import Allocator, Source, Variant
from heaplab.errors import UsageError
from heaplab.machine import native

if TYPE_CHECKING:
    from heaplab.results import publication_spec, published_spec, spec

Kind = TypeVar("Kind")
TUNABLES: Final = "GLIBC_TUNABLES"


class CatalogFiles(Mapping[str, Kind], Generic[Kind]):
    """The TOML files of one kind by id, in alphabetical order. Folders and files are read at their first use.

    `read` takes a path and an id. Of files with the same id, the one in the last folder counts.
    """

    def __init__(self, read: Callable[[Path, str], Kind], folders: Sequence[Path]) -> None:
        self._read_file = read
        self._folders = folders
        self._read: dict[str, Kind] = {}

    @cached_property
    def _files(self) -> dict[str, Path]:
        files = {
            path.relative_to(folder).with_suffix("").as_posix(): path
            for folder in self._folders
            for path in folder.rglob("*.toml")
        }
        return dict(sorted(files.items()))

    def __getitem__(self, identifier: str) -> Kind:
        if identifier not in self._read:
            self._read[identifier] = self._read_file(self._files[identifier], identifier)
        return self._read[identifier]

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


class CatalogTables(Mapping[str, Kind], Generic[Kind]):
    """The tables of one TOML file by name, as written; a later file replaces tables of the same name.

    The files are read at the first use.
    """

    def __init__(self, kind: Callable[[], type[Kind]], files: Sequence[Path]) -> None:
        self._kind = kind
        self._files = files

    @cached_property
    def _tables(self) -> dict[str, Kind]:
        tables: dict[str, Kind] = {}
        for path in self._files:
            tables |= toml_file.load_tables(self._kind(), path)
        return tables

    def __getitem__(self, identifier: str) -> Kind:
        return self._tables[identifier]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)


@dataclass(frozen=True)
class Catalog:
    """The contents of TOML files by id, in alphabetical order; aspects and publications as in their files."""

    allocators: Mapping[str, Allocator] = field(default_factory=dict)
    workloads: Mapping[str, spec.Workload] = field(default_factory=dict)
    experiments: Mapping[str, spec.Experiment] = field(default_factory=dict)
    suites: Mapping[str, spec.Suite] = field(default_factory=dict)
    aspects: Mapping[str, spec.Aspect] = field(default_factory=dict)
    publications: Mapping[str, publication_spec.Publication] = field(default_factory=dict)
    published: Mapping[str, published_spec.Published] = field(default_factory=dict)
    named: Mapping[str, tuple[Allocator, Variant | None]] = field(default_factory=dict)

    def allocator(self, name: str) -> tuple[Allocator, Variant | None]:
        """The allocator and variant of NAME or NAME-VARIANT; names given on the command line come first."""
        if name in self.named:
            return self.named[name]
        if name in self.allocators:
            return self.allocators[name], None
        for base, allocator in self.allocators.items():
            if name.startswith(base + "-") and name[len(base) + 1 :] in allocator.variants:
                return allocator, allocator.variants[name[len(base) + 1 :]]
        raise UsageError(f"no allocator {name!r}; known: {', '.join(self.allocator_names())}")

    def allocator_names(self) -> list[str]:
        """All names, each allocator followed by its variants."""
        return [
            name
            for base, allocator in self.allocators.items()
            for name in (base, *(f"{base}-{variant}" for variant in allocator.variants))
        ]

    def suite(self, name: str) -> spec.Suite:
        """A suite by its name, or a part of one by the names of its experiments, separated by commas."""
        if name in self.suites:
            return self.suites[name]
        asked = [wanted.strip() for wanted in name.split(",")]
        named = {each: suite for suite in self.suites.values() for each in suite.names}
        if unknown := [wanted for wanted in asked if wanted not in named]:
            raise UsageError(
                f"no suite {unknown[0]!r}; known: {', '.join(self.suites) or 'none'}; "
                f"and experiments by name, with commas: {', '.join(named) or 'none'}"
            )
        chosen = list(dict.fromkeys(named[wanted].names[wanted] for wanted in asked))
        return named[asked[0]].model_copy(update={"id": name, "experiments": chosen})

    def experiments_matching(self, patterns: list[str]) -> list[spec.Experiment]:
        """Experiments by id, group, glob of ids or file, in the order of the patterns and without repetition.

        In each experiment the aspect takes the place of the aspect's id.
        """
        matching: dict[str, spec.Experiment] = {}
        for pattern in patterns:
            if pattern.endswith(".toml"):
                read = reading("spec", "Experiment")(Path(pattern), Path(pattern).stem)
                matching[read.id] = read
                continue
            ids = fnmatch.filter(self.experiments, pattern) or fnmatch.filter(
                self.experiments, f"{pattern}/*"
            )
            if not ids:
                raise UsageError(f"no experiment {pattern!r}; `heaplab show experiments` names them")
            matching |= {identifier: self.experiments[identifier] for identifier in ids}
        for item in matching.values():
            if item.workload not in self.workloads:
                raise UsageError(f"experiment {item.id}: no workload {item.workload!r}")
        return list(map(self._with_aspect, matching.values()))

    def _with_aspect(self, item: spec.Experiment) -> spec.Experiment:
        if not isinstance(item.aspect, str) or not item.aspect:
            return item
        if item.aspect not in self.aspects:
            raise UsageError(
                f"experiment {item.id}: no aspect {item.aspect!r}; known: {', '.join(self.aspects) or 'none'}"
            )
        return item.model_copy(update={"aspect": self.aspects[item.aspect]})

    def with_library(self, name: str, library: Path) -> Catalog:
        """A catalog in which NAME stands for a library file of the user's."""
        allocator = Allocator(
            id=name,
            title=name,
            summary=f"The library {library.name}, given on the command line.",
            licence="",
            sources=[Source(kind="system", library=str(library.absolute()))],
        )
        return replace(self, named={**self.named, name: (allocator, None)})

    def with_settings(self, name: str, base: str, settings: Variant) -> Catalog:
        """A catalog in which NAME stands for the allocator BASE with further settings."""
        allocator, variant = self.allocator(base)
        if variant:
            settings = replace(
                settings,
                environment=joined(variant.environment, settings.environment),
                library=variant.library,
                huge_pages=settings.huge_pages or variant.huge_pages,
            )
        return replace(self, named={**self.named, name: (allocator, settings)})


def joined(environment: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """The variables of both. Those of the second take precedence, but lists in GLIBC_TUNABLES are joined."""
    both = {**environment, **more}
    if TUNABLES in environment and TUNABLES in more:
        both[TUNABLES] = f"{environment[TUNABLES]}:{more[TUNABLES]}"
    return both


def load(extra: tuple[Path, ...] = ()) -> Catalog:
    """Read heaplab's own catalog, the user's, and the folders in `extra`; later ones win by id."""
    for folder in extra:
        if not folder.is_dir():
            raise UsageError(f"{folder}: no such catalog folder")
    everywhere = folders(extra)

    def files(kind: str) -> list[Path]:
        return [top / kind for top in everywhere]

    return Catalog(
        allocators=CatalogFiles(read_allocator, files("allocators")),
        workloads=CatalogFiles(reading("spec", "Workload"), files("workloads")),
        experiments=CatalogFiles(reading("spec", "Experiment"), files("experiments")),
        suites=CatalogFiles(reading("spec", "Suite"), files("suites")),
        aspects=CatalogTables(imported("spec", "Aspect"), files("aspects.toml")),
        publications=CatalogTables(imported("publication_spec", "Publication"), files("publications.toml")),
        published=CatalogFiles(reading("published_spec", "Published"), files("published")),
    )


def read_allocator(path: Path, identifier: str) -> Allocator:
    """An allocator's file. The user's are checked, and so is one of heaplab's own that somebody broke."""
    if path.is_relative_to(native.catalog()):
        with contextlib.suppress(AttributeError, KeyError, TypeError, ValueError):
            return Allocator.of_own_file({"id": identifier} | toml_file.content_of(path))
    return toml_file.load(Allocator, path, identifier)


def reading(module: str, name: str) -> Callable[[Path, str], Any]:
    kind = imported(module, name)
    return lambda path, identifier: toml_file.load(kind(), path, identifier)


def imported(module: str, name: str) -> Callable[[], Any]:
    """A description, imported when a file of its kind is read: most commands read no workloads."""
    return lambda: getattr(import_module(f"heaplab.results.{module}"), name)


def folders(extra: tuple[Path, ...]) -> list[Path]:
    """Heaplab's own catalog, the user's, and those on the command line; a later one wins."""
    user = Path(platformdirs.user_config_dir("heaplab")) / "catalog"
    return [native.catalog(), user, *extra]
