"""Which heaplab this is."""

from importlib import metadata

try:
    __version__ = metadata.version("heaplab")
except metadata.PackageNotFoundError:
    __version__ = "source tree"
