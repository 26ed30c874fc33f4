"""The content of `catalog/allocators/NAME.toml`: the sources of a malloc library, and its settings."""

from typing import Literal

from pydantic import Field, field_validator

from heaplab.catalog.toml_file import Spec
from heaplab.machine.huge_pages import HugePages


class Source(Spec):
    """One source of a library. The sources of an allocator are tried in order.

    `library` names the file to preload, by kind:
    system    a path, a soname on the loader's search path, or "" for the C library's own malloc
    debian    a glob below the package's root: looked for below / first, then in heaplab's cache
    wheel     a glob below the unpacked wheel, in heaplab's cache
    crate     not used: the file that `build` made, in heaplab's cache
    heaplab   the name between `libheaplab_` and `.so`, built with heaplab itself
    """

    kind: Literal["system", "debian", "wheel", "crate", "heaplab"]
    package: str = ""  # Debian package, wheel or crate
    version: str = ""  # exact version of the package; empty: any
    upstream: str = ""  # version of the allocator, if the package has version numbers of its own
    library: str = ""
    build: list[str] = []  # crate: shell commands run in the unpacked sources; $out is the library to make
    needs: list[str] = []  # crate: programs the build needs


class Variant(Spec):
    """The same library with other settings."""

    title: str
    environment: dict[str, str] = {}
    library: str = ""  # another file of the same source, as in Source.library
    huge_pages: HugePages | None = None  # transparent huge pages of the whole process


class WorthTrying(Spec):
    """One setting that is worth trying, as typed on the command line."""

    name: str = Field(pattern="^[a-z0-9][a-z0-9-]*$")  # name of the arm: "few-arenas"
    setting: str  # NAME=VALUE, or thp=MODE
    trades: str  # the gain of the setting, and its price

    @field_validator("setting")
    @classmethod
    def _has_a_value(cls, text: str) -> str:
        if not all(text.partition("=")):
            raise ValueError("takes NAME=VALUE")
        return text


class Unsafe(Spec):
    """The kernels on which an allocator may hand out memory twice or crash."""

    kernel: str  # first release, as in "6.19"
    why: str


class Allocator(Spec):
    id: str
    title: str
    summary: str  # one sentence
    licence: str
    homepage: str = ""
    reference: bool = False  # a bound to compare with, not for use: measured only when named
    quick: bool = False  # ready-made and obtained in seconds: `heaplab compare` takes it without being asked
    sources: list[Source] = Field(min_length=1)
    environment: dict[str, str] = {}
    library_path: bool = False  # the library's folder must be on LD_LIBRARY_PATH
    variants: dict[str, Variant] = {}  # "scalloc" with variant "paper" is named scalloc-paper
    settings: list[WorthTrying] = []
    unsafe: Unsafe | None = None
    notes: str = ""

    @field_validator("settings")
    @classmethod
    def _tries_each_under_a_name_of_its_own(cls, settings: list[WorthTrying]) -> list[WorthTrying]:
        names = [one.name for one in settings]
        if twice := next((name for name in names if names.count(name) > 1), ""):
            raise ValueError(f"two are named {twice}")
        return settings
