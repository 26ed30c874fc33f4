"""A reference page of C and C++ headers: public declarations as they are written, their comments as prose."""

import re
import subprocess
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

from clang.cindex import AccessSpecifier, Cursor, CursorKind, Index, TranslationUnit

PARSED_THROUGH = (CursorKind.NAMESPACE, CursorKind.LINKAGE_SPEC)
CLASSES = (CursorKind.CLASS_TEMPLATE, CursorKind.CLASS_DECL)
# Shown whole: their comments stand beside the fields, and no function of theirs has a body worth hiding.
WHOLE = (CursorKind.STRUCT_DECL, CursorKind.ENUM_DECL)
SHOWN = (
    *CLASSES,
    *WHOLE,
    CursorKind.CONCEPT_DECL,
    CursorKind.CONSTRUCTOR,
    CursorKind.CXX_METHOD,
    CursorKind.DESTRUCTOR,
    CursorKind.FRIEND_DECL,
    CursorKind.FUNCTION_DECL,
    CursorKind.FUNCTION_TEMPLATE,
    CursorKind.TYPE_ALIAS_DECL,
    CursorKind.TYPE_ALIAS_TEMPLATE_DECL,
    CursorKind.USING_DECLARATION,
    CursorKind.VAR_DECL,
)
SECTION = re.compile(r"^/\* -{4} (.+?) -{4}(.*?)\*/", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"/\*.*?\*/|(?://[^\n]*\n)+", re.DOTALL)


def page(include: Path, title: str, introduction: str, included: str, headers: Iterable[str]) -> str:
    """The headers as a program sees them that includes `included`."""
    unit = parsed(include, included)
    parts = [part for name in headers for part in header(unit, include, name)]
    return "\n\n".join([f"# {title}", introduction, *parts])


def header(unit: TranslationUnit, include: Path, name: str) -> Iterator[str]:
    source = (include / name).read_text()
    comment = COMMENT.search(source)
    assert comment, f"{name} does not say what it is for"
    yield f"## `<{name}>`"
    yield prose(comment[0])
    sections = [*SECTION.finditer(source)]
    level = 4 if sections else 3
    for group in groups(children(unit.cursor, str(include / name))):
        while sections and sections[0].start() < group[0].extent.start.offset:
            _, heading, text = sections.pop(0).group(0, 1, 2)
            yield f"### {heading}"
            yield prose(text)
        yield from entities(group, source, level)


def groups(cursors: Iterable[Cursor]) -> Iterator[list[Cursor]]:
    """Neighbours that a reader wants together: overloads, and what says nothing but its declaration."""
    for _, group in groupby(cursors, lambda cursor: title_of(cursor) if has_heading(cursor) else ""):
        yield [*group]


def has_heading(cursor: Cursor) -> bool:
    return cursor.raw_comment is not None or cursor.kind in (*CLASSES, *WHOLE)


def title_of(cursor: Cursor) -> str:
    return cursor.spelling.partition("<")[0]


def entities(group: list[Cursor], source: str, level: int) -> Iterator[str]:
    if not has_heading(group[0]):
        yield block([declaration(cursor, source) for cursor in group])
        return
    yield f"{'#' * level} `{title_of(group[0])}`"
    for cursor in group:
        yield block([declaration(cursor, source)])
        yield prose(cursor.raw_comment or "")
        if cursor.kind in CLASSES:
            for members in groups(children(cursor, cursor.location.file.name)):
                yield from entities(members, source, level + 1)


def parsed(include: Path, name: str) -> TranslationUnit:
    """A C header is parsed as C++, which it allows: the types and names are the same."""
    ask = ["g++", "-print-file-name=include"]  # has stddef.h, which the package libclang lacks
    of_compiler = subprocess.run(ask, capture_output=True, text=True, check=True).stdout.strip()
    options = ["-xc++", "-std=c++20", f"-I{include}", "-isystem", of_compiler, "-fparse-all-comments"]
    skip = TranslationUnit.PARSE_SKIP_FUNCTION_BODIES
    unit = Index.create().parse(str(include / name), options, options=skip)
    errors = [found for found in unit.diagnostics if found.severity >= found.Error]
    assert not errors, f"{name}: {errors[0]}"
    return unit


def children(parent: Cursor, file: str) -> Iterator[Cursor]:
    """What a file declares for its users, in its order."""
    for cursor in parent.get_children():
        if cursor.location.file is None or cursor.location.file.name != file:
            continue
        if cursor.kind in PARSED_THROUGH:
            yield from children(cursor, file)
        elif cursor.kind in SHOWN and cursor.access_specifier not in (
            AccessSpecifier.PRIVATE,
            AccessSpecifier.PROTECTED,
        ):
            yield cursor


def declaration(cursor: Cursor, source: str) -> str:
    """As it stands in the file, without the body of a function or a class."""
    start, end = cursor.extent.start, cursor.extent.end
    text = source.encode()[start.offset : end.offset].decode()
    indentation = " " * (start.column - 1)
    lines = text.replace(f"\n{indentation}", "\n").replace(" HEAPLAB_NOEXCEPT", "")
    if cursor.kind in CLASSES:
        return re.split(r"\s*\{\n", lines, maxsplit=1)[0] + ";"
    if cursor.kind is CursorKind.FUNCTION_TEMPLATE:
        lines = re.split(r"(?<=\)) \{\n", lines, maxsplit=1)[0]
    return lines + ";"


def block(declarations: list[str]) -> str:
    return "\n".join(["```cpp", *declarations, "```"])


def prose(comment: str) -> str:
    """The words of a comment as Markdown, in which no name becomes a tag or an emphasis."""
    lines = [re.sub(r"^ *(// ?|/\* ?| *)|\s*\*/$", "", line) for line in comment.strip().split("\n")]
    parts = re.split(r"(`[^`]*`)", "\n".join(lines))
    parts[::2] = [part.replace("<", "&lt;").replace("*", r"\*") for part in parts[::2]]
    return "".join(parts).strip()
