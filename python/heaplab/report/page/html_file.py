"""What all pages share: templates, colours, style sheet, and how a page reaches its file."""

from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from heaplab.errors import HeaplabError
from heaplab.report.pictures import palette
from heaplab.report.words import units


def rendered(template: str, shared: dict[str, Any], **given: Any) -> str:
    """The page; `shared` is also known to macros and included templates."""
    environment = Environment(
        loader=PackageLoader("heaplab.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["svg"] = Markup
    environment.globals.update(units=units, **shared)
    style = resources.files("heaplab.report").joinpath("templates/style.css").read_text(encoding="utf-8")
    return environment.get_template(template).render(
        style=Markup(style), variables=palette.variables(), chrome=palette.CHROME, **given
    )


def write(path: Path, html: str) -> None:
    """Raises HeaplabError where the file cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_file() or not path.exists():
            _replace(path.resolve(), html)
        else:
            path.write_text(html, encoding="utf-8")  # a device or a pipe
    except OSError as error:
        raise HeaplabError(f"{path}: {error.strerror}") from error


def _replace(path: Path, text: str) -> None:
    """Write beside the file and rename: on a full disk the earlier page stays and no half of one is left."""
    beside = path.with_name(f"{path.name}.new")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise
