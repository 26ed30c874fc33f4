"""The catalog: allocators, workloads, experiments and suites, from heaplab's own files and the user's.

A folder of the user's (`~/.config/heaplab/catalog`, or `--catalog DIR`) is laid out like heaplab's own;
a file there replaces the file of the same id.
"""

import fnmatch
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import platformdirs

from heaplab.catalog import native, spec
from heaplab.errors import UsageError

Kind = TypeVar("Kind", bound=spec.Spec)


@dataclass(frozen=True)
class Catalog:
    """Everything by id, in alphabetical order."""

    allocators: dict[str, spec.Allocator] = field(default_factory=dict)
    workloads: dict[str, spec.Workload] = field(default_factory=dict)
    experiments: dict[str, spec.Experiment] = field(default_factory=dict)
    suites: dict[str, spec.Suite] = field(default_factory=dict)

    def allocator(self, name: str) -> tuple[spec.Allocator, spec.Variant | None]:
        """Return what NAME or NAME-VARIANT stands for."""
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
        return self._get("suite", self.suites, name)

    def experiments_matching(self, patterns: list[str]) -> list[spec.Experiment]:
        """Experiments by id, group or glob of ids, in the order of the patterns and without repetition."""
        found: dict[str, spec.Experiment] = {}
        for pattern in patterns:
            ids = fnmatch.filter(self.experiments, pattern) or fnmatch.filter(
                self.experiments, f"{pattern}/*"
            )
            if not ids:
                raise UsageError(f"no experiment {pattern!r}; `heaplab list experiments` names them")
            found |= {identifier: self.experiments[identifier] for identifier in ids}
        return list(found.values())

    def with_library(self, name: str, library: Path) -> "Catalog":
        """A catalog in which NAME is one library file of the user's."""
        allocator = spec.Allocator(
            id=name,
            title=name,
            summary=f"The library {library.name}, given on the command line.",
            licence="",
            quick=True,
            sources=[spec.Source(kind="system", library=str(library.absolute()))],
        )
        return replace(self, allocators=self.allocators | {name: allocator})

    @staticmethod
    def _get(kind: str, table: dict[str, Kind], name: str) -> Kind:
        if name not in table:
            raise UsageError(f"no {kind} {name!r}; known: {', '.join(table) or 'none'}")
        return table[name]


def user_folder() -> Path:
    return Path(platformdirs.user_config_dir("heaplab")) / "catalog"


def load(extra: tuple[Path, ...] = ()) -> Catalog:
    """Read heaplab's own catalog, the user's, and the folders in `extra`; later ones win by id."""
    for folder in extra:
        if not folder.is_dir():
            raise UsageError(f"{folder}: no such catalog folder")
    folders = [native.catalog(), user_folder(), *extra]
    catalog = Catalog(
        allocators=_load_all(spec.Allocator, folders, "allocators"),
        workloads=_load_all(spec.Workload, folders, "workloads"),
        experiments=_load_all(spec.Experiment, folders, "experiments"),
        suites=_load_all(spec.Suite, folders, "suites"),
    )
    for experiment in catalog.experiments.values():
        if experiment.workload not in catalog.workloads:
            raise UsageError(f"experiment {experiment.id}: no workload {experiment.workload!r}")
    return catalog


def _load_all(kind: type[Kind], folders: list[Path], name: str) -> dict[str, Kind]:
    files: dict[str, Path] = {}
    for folder in folders:
        top = folder / name
        files |= {path.relative_to(top).with_suffix("").as_posix(): path for path in top.rglob("*.toml")}
    return {identifier: spec.load(kind, files[identifier], identifier) for identifier in sorted(files)}
