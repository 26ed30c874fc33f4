"""What all pages share: templates, colours, style sheet."""

from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from heaplab.report.pictures import palette
from heaplab.text import units


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
