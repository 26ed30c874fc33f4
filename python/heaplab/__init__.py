"""heaplab: a laboratory for dynamic memory on Linux."""

from importlib import metadata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heaplab.report.machine_readable.notebook import load as load

try:
    __version__ = metadata.version("heaplab")
except metadata.PackageNotFoundError:
    __version__ = "source tree"


def __getattr__(name: str) -> Any:
    """Commands that measure nothing do not wait for what `load` needs."""
    if name == "load":
        from heaplab.report.machine_readable.notebook import load

        return load
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
