"""The catalog: allocators, workloads, experiments and suites, from heaplab's own files and the user's.

A folder of the user's (`~/.config/heaplab/catalog`, or `--catalog DIR`) is laid out like heaplab's own;
a file there replaces the file of the same id.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final, Generic, TypeVar

import platformdirs

from heaplab.catalog import native, toml_file
from heaplab.catalog.allocator_spec import Allocator, Source, Variant
from heaplab.errors import UsageError

if TYPE_CHECKING:
    from heaplab.catalog import publication_spec, published_spec, spec

Kind = TypeVar("Kind", bound=toml_file.Spec)
TUNABLES: Final = "GLIBC_TUNABLES"


class CatalogFiles(Mapping[str, Kind], Generic[Kind]):
    """The TOML files of one kind by id, in alphabetical order. Folders and files are read at their first use.

    `kind` gives the class of their content; of files of the same id that in the last folder counts.
    """

    def __init__(self, kind: Callable[[], type[Kind]], folders: Sequence[Path]) -> None:
        self._kind = kind
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
            self._read[identifier] = toml_file.load(self._kind(), self._files[identifier], identifier)
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
        found: dict[str, Kind] = {}
        for path in self._files:
            found |= toml_file.load_tables(self._kind(), path)
        return found

    def __getitem__(self, identifier: str) -> Kind:
        return self._tables[identifier]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)


@dataclass(frozen=True)
class Catalog:
    """The kinds of TOML files by id, in alphabetical order; aspects and publications as in their files."""

    allocators: Mapping[str, Allocator] = field(default_factory=dict)
    workloads: Mapping[str, spec.Workload] = field(default_factory=dict)
    experiments: Mapping[str, spec.Experiment] = field(default_factory=dict)
    suites: Mapping[str, spec.Suite] = field(default_factory=dict)
    aspects: Mapping[str, spec.Aspect] = field(default_factory=dict)
    publications: Mapping[str, publication_spec.Publication] = field(default_factory=dict)
    published: Mapping[str, published_spec.Published] = field(default_factory=dict)
    named: Mapping[str, tuple[Allocator, Variant | None]] = field(default_factory=dict)

    def allocator(self, name: str) -> tuple[Allocator, Variant | None]:
        """Return what NAME or NAME-VARIANT stands for; a name given on the command line comes first."""
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

    def workload(self, name: str) -> spec.Workload:
        return self._get("workload", self.workloads, name)

    def suite(self, name: str) -> spec.Suite:
        """A suite, or a part of one by names of its experiments, with commas between them."""
        if name in self.suites:
            return self.suites[name]
        asked = [one.strip() for one in name.split(",")]
        named = {one: suite for suite in self.suites.values() for one in suite.names}
        if unknown := [one for one in asked if one not in named]:
            raise UsageError(
                f"no suite {unknown[0]!r}; known: {', '.join(self.suites) or 'none'}; "
                f"and experiments by name, with commas: {', '.join(named) or 'none'}"
            )
        chosen = list(dict.fromkeys(named[one].names[one] for one in asked))
        return named[asked[0]].model_copy(update={"id": name, "experiments": chosen})

    def experiments_matching(self, patterns: list[str]) -> list[spec.Experiment]:
        """Experiments by id, group or glob of ids, in the order of the patterns and without repetition.

        Each has its aspect itself in place of the aspect's id.
        """
        found: dict[str, spec.Experiment] = {}
        for pattern in patterns:
            ids = fnmatch.filter(self.experiments, pattern) or fnmatch.filter(
                self.experiments, f"{pattern}/*"
            )
            if not ids:
                raise UsageError(f"no experiment {pattern!r}; `heaplab list experiments` names them")
            found |= {identifier: self.experiments[identifier] for identifier in ids}
        for item in found.values():
            if item.workload not in self.workloads:
                raise UsageError(f"experiment {item.id}: no workload {item.workload!r}")
        return list(map(self._with_aspect, found.values()))

    def _with_aspect(self, item: spec.Experiment) -> spec.Experiment:
        if not isinstance(item.aspect, str) or not item.aspect:
            return item
        if item.aspect not in self.aspects:
            raise UsageError(
                f"experiment {item.id}: no aspect {item.aspect!r}; known: {', '.join(self.aspects) or 'none'}"
            )
        return item.model_copy(update={"aspect": self.aspects[item.aspect]})

    def with_library(self, name: str, library: Path) -> Catalog:
        """A catalog in which NAME is one library file of the user's."""
        allocator = Allocator(
            id=name,
            title=name,
            summary=f"The library {library.name}, given on the command line.",
            licence="",
            sources=[Source(kind="system", library=str(library.absolute()))],
        )
        return replace(self, named={**self.named, name: (allocator, None)})

    def with_settings(self, name: str, base: str, settings: Variant) -> Catalog:
        """A catalog in which NAME is the allocator BASE with settings beyond its own."""
        allocator, variant = self.allocator(base)
        if variant:
            settings = settings.model_copy(
                update={
                    "environment": joined(variant.environment, settings.environment),
                    "library": variant.library,
                    "huge_pages": settings.huge_pages or variant.huge_pages,
                }
            )
        return replace(self, named={**self.named, name: (allocator, settings)})

    @staticmethod
    def _get(kind: str, table: Mapping[str, Kind], name: str) -> Kind:
        if name not in table:
            raise UsageError(f"no {kind} {name!r}; known: {', '.join(table) or 'none'}")
        return table[name]


def joined(environment: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """Both, the second over the first; but GLIBC_TUNABLES is a list, to which the second adds."""
    both = {**environment, **more}
    if TUNABLES in environment and TUNABLES in more:
        both[TUNABLES] = f"{environment[TUNABLES]}:{more[TUNABLES]}"
    return both


def user_folder() -> Path:
    return Path(platformdirs.user_config_dir("heaplab")) / "catalog"


def load(extra: tuple[Path, ...] = ()) -> Catalog:
    """Read heaplab's own catalog, the user's, and the folders in `extra`; later ones win by id."""
    for folder in extra:
        if not folder.is_dir():
            raise UsageError(f"{folder}: no such catalog folder")
    everywhere = folders(extra)

    def files(kind: str) -> list[Path]:
        return [top / kind for top in everywhere]

    return Catalog(
        allocators=CatalogFiles(lambda: Allocator, files("allocators")),
        workloads=CatalogFiles(lambda: specs().Workload, files("workloads")),
        experiments=CatalogFiles(lambda: specs().Experiment, files("experiments")),
        suites=CatalogFiles(lambda: specs().Suite, files("suites")),
        aspects=CatalogTables(lambda: specs().Aspect, files("aspects.toml")),
        publications=CatalogTables(publication_kind, files("publications.toml")),
        published=CatalogFiles(published_kind, files("published")),
    )


def publication_kind() -> type[publication_spec.Publication]:
    from heaplab.catalog.publication_spec import Publication

    return Publication


def published_kind() -> type[published_spec.Published]:
    from heaplab.catalog.published_spec import Published

    return Published


def specs() -> ModuleType:
    """What describes workloads, imported where one is read: most commands about allocators read none."""
    from heaplab.catalog import spec

    return spec


def folders(extra: tuple[Path, ...]) -> list[Path]:
    """Heaplab's own catalog, the user's, and those on the command line; a later one wins."""
    return [native.catalog(), user_folder(), *extra]
