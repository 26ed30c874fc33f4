"""heaplab: a laboratory for dynamic memory on Linux."""

from typing import TYPE_CHECKING

from heaplab.lazy import door

if TYPE_CHECKING:
    from heaplab.notebook import load as load
    from heaplab.version import __version__ as __version__
else:
    __getattr__ = door(__name__)
