"""heaplab: a laboratory for dynamic memory on Linux."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heaplab.report.machine_readable.notebook import load as load
    from heaplab.version import __version__ as __version__


def __getattr__(name: str) -> Any:
    """Commands that measure nothing do not wait for what `load` needs."""
    if name == "load":
        from heaplab.report.machine_readable.notebook import load

        return load
    if name == "__version__":
        from heaplab.version import __version__

        return __version__
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
