"""What the command lines of research/ have in common."""

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from pathlib import Path


def parser_of(description: str | None) -> ArgumentParser:
    """A parser whose --help shows the description in its own lines."""
    return ArgumentParser(description=description, formatter_class=RawDescriptionHelpFormatter)


def add_page(parser: ArgumentParser) -> None:
    parser.add_argument("--page", type=Path, help="Markdown file to write; without, the page is printed")


def put(text: str, page: Path | None) -> None:
    """Write a page, or print it."""
    if page:
        page.write_text(text)
    else:
        print(text)
