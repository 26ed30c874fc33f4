"""`heaplab path`: a file of heaplab's, or the library of an allocator, as LD_PRELOAD takes it."""

from pathlib import Path

from heaplab.errors import UsageError
from heaplab.machine import native
from heaplab.machine.preload_paths import loadable


def path_of(extra: tuple[Path, ...], name: str) -> str | Path:
    if file := native.named(name):
        return loadable(str(file)) if file.suffix == ".so" else file
    # Here because it imports pydantic, which heaplab's own files do not need.
    from heaplab.catalog import contents as catalogs, locate

    catalog = catalogs.load(extra)
    if name not in catalog.allocators and name not in catalog.allocator_names():  # which reads all files
        raise UsageError(f"path: no program, library or allocator {name!r}")
    library = locate.found_here(catalog, name).path
    if library is None:
        raise UsageError(f"path: {name} is the C library's own malloc, there is nothing to preload")
    return loadable(str(library.resolve()))
