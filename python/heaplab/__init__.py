"""heaplab: a laboratory for dynamic memory on Linux."""

from heaplab.lazy import door

__getattr__ = door(__name__, {"heaplab.version": ["__version__"]})
