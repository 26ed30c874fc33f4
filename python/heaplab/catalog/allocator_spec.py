"""The content of `catalog/allocators/NAME.toml`: the sources of a malloc library, and its settings.

`toml_file.load` checks types, `Allocator.of_own_file` does not: a command that only looks for a library
would spend half of its time on importing the checker.
"""

import re
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

from heaplab.machine.huge_pages import HugePages


class Strict:
    """The base of what a file of the catalog holds: pydantic refuses a key that names no field."""

    __pydantic_config__: ClassVar = {"extra": "forbid"}


@dataclass(frozen=True)
class Source(Strict):
    """One source of a library. The sources of an allocator are tried in order.

    `library` names the file to preload, by kind:
    system    a path, a soname on the loader's search path, or "" for the C library's own malloc
    debian    a glob below the package's root: looked for below / first, then in heaplab's cache
    wheel     a glob below the unpacked wheel, in heaplab's cache
    crate     the name of the file that `build` makes, in heaplab's cache; else by the crate's name
    heaplab   the name between `libheaplab_` and `.so`, built with heaplab itself
    runtime   no library but the folder with the mutator of a language whose runtime frees memory
    """

    kind: Literal["system", "debian", "wheel", "crate", "heaplab", "runtime"]
    package: str = ""  # Debian package, wheel or crate; runtime: the package with the language
    version: str = ""  # exact version of the package; empty: any
    upstream: str = ""  # version of the allocator, if the package has version numbers of its own
    library: str = ""
    # crate, runtime: shell commands run in the unpacked sources; $out is the library or program to make
    build: list[str] = field(default_factory=list)
    needs: list[str] = field(default_factory=list)  # crate, runtime: programs the build needs
    # runtime: the words that run the program {out} of the folder {folder}, before its options
    command: list[str] = field(default_factory=list)
    # what `heaplab get` downloads, by file name: the files that this version was tested with; empty: any
    sha256: dict[str, str] = field(default_factory=dict)

    def fault_of_file(self, name: str, sha256: str) -> str:
        """Why a downloaded file is refused; "" if it is pinned, of another version than pinned, or free."""
        known = self.sha256.get(name, "")
        if known == sha256 or not (known or self.pins_version_of(name)):
            return ""
        pinned = f"pins {known[:16]}..." if known else f"pins {', '.join(self.sha256)}"
        return f"{name} with SHA-256 {sha256[:16]}... is not what was tested, the catalog {pinned}"

    def pins_version_of(self, name: str) -> bool:
        """Whether files of this file's version are pinned. Debian alone gives a version of its own choice."""
        if self.kind != "debian":
            return bool(self.sha256)
        return name.rpartition("_")[0] in {file.rpartition("_")[0] for file in self.sha256}


@dataclass(frozen=True)
class Variant(Strict):
    """The same library with other settings."""

    title: str
    environment: dict[str, str] = field(default_factory=dict)
    library: str = ""  # another file of the same source, as in Source.library
    huge_pages: HugePages | None = None  # transparent huge pages of the whole process


@dataclass(frozen=True)
class WorthTrying(Strict):
    """One setting that is worth trying, as typed on the command line."""

    name: str  # of the arm: "few-arenas"
    setting: str  # NAME=VALUE, or thp=MODE
    trades: str  # the gain of the setting, and its price
    measured: str = ""  # what it was measured to do, to which program and on how many processors

    def __post_init__(self) -> None:
        if not re.fullmatch("[a-z0-9][a-z0-9-]*", self.name):
            raise ValueError(f"name {self.name!r}: takes small letters, digits and dashes")
        if not all(self.setting.partition("=")):
            raise ValueError(f"setting {self.setting!r}: takes NAME=VALUE")


@dataclass(frozen=True)
class Unsafe(Strict):
    """The kernels on which an allocator may hand out memory twice or crash."""

    kernel: str  # first release, as in "6.19"
    why: str


@dataclass(frozen=True)
class Allocator(Strict):
    id: str
    title: str
    summary: str  # one sentence
    licence: str
    sources: list[Source]  # one or more
    homepage: str = ""
    reference: bool = False  # a bound to compare with, not for use: measured only when named
    quick: bool = False  # ready-made and obtained in seconds: `heaplab compare` takes it without being asked
    environment: dict[str, str] = field(default_factory=dict)
    library_path: bool = False  # the library's folder must be on LD_LIBRARY_PATH
    # "scalloc" with variant "paper" is named scalloc-paper
    variants: dict[str, Variant] = field(default_factory=dict)
    settings: list[WorthTrying] = field(default_factory=list)
    unsafe: Unsafe | None = None
    notes: str = ""

    def __post_init__(self) -> None:
        if not self.sources:
            raise ValueError("takes one source or more")
        names = [setting.name for setting in self.settings]
        if twice := next((name for name in names if names.count(name) > 1), ""):
            raise ValueError(f"two settings are named {twice}")

    @classmethod
    def of_own_file(cls, content: dict[str, Any]) -> Self:
        """The content of one of heaplab's own files, which the tests check: its types are not looked at here.

        Raises TypeError or ValueError for content that no check let pass.
        """
        unsafe = content.get("unsafe")
        return cls(
            **content
            | {
                "sources": [Source(**table) for table in content["sources"]],
                "variants": {name: Variant(**table) for name, table in content.get("variants", {}).items()},
                "settings": [WorthTrying(**table) for table in content.get("settings", [])],
                "unsafe": Unsafe(**unsafe) if unsafe else None,
            }
        )
