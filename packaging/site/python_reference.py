"""From Python sources: the page of `heaplab.load`, and the types of the fields of a results file."""

import inspect
import re
from typing import Any

import heaplab
from heaplab.analysis import CELL_COLUMNS, RUN_COLUMNS
from heaplab.results import records

SECTIONS = {
    "campaign": records.Campaign,
    "coverage": records.Coverage,
    "host": records.Host,
    "library": records.Arm,
    "run": records.Run,
    "warming": records.Warming,
    "behaviour": records.Behaviour,
    "process": records.Process,
    "sample": records.Sample,
    "timing": records.Timing,
    "end": records.End,
}
# Not an integer's upper bound: that it fits into 63 bits.
BOUNDS = {"minimum": "from", "exclusiveMinimum": "above", "maximum": "to"}


def load_page() -> str:
    """Signature, docstring and the columns of both tables."""
    documentation, _, example = (inspect.getdoc(heaplab.load) or "").partition("\nExample: ")
    assert example, "heaplab.load has no docstring with an example"
    return f"""# heaplab.load

```python
heaplab.load{inspect.signature(heaplab.load)}
```

{documentation}

```python
{example}
```

`heaplab report --form table` writes the same tables from [results files](../docs/results-format.md).

## Columns of cells

{table(CELL_COLUMNS)}
## Columns of runs

{table(RUN_COLUMNS)}"""


def table(columns: dict[str, str]) -> str:
    rows = "".join(f"| `{name}` | {meaning} |\n" for name, meaning in columns.items())
    return f"| column | meaning |\n|---|---|\n{rows}"


def with_types(page: str) -> str:
    """docs/results-format.md with the type of each field beside it."""
    heading = ""

    def typed(line: str) -> str:
        nonlocal heading
        if line.startswith("#"):
            heading = line.strip("# ")
        if heading not in SECTIONS or not line.startswith("|"):
            return line
        _, first, rest = line.split("|", 2)
        return f"|{first}|{type_cell(heading, first)}|{rest}"

    return "\n".join(map(typed, page.split("\n")))


def type_cell(heading: str, first: str) -> str:
    names = re.findall(r"`(\w+)`", first)
    if not names:
        return "---" if "-" in first else " type "
    schema = SECTIONS[heading].model_json_schema()
    kinds = {in_words(schema["properties"][name], schema.get("$defs", {})) for name in names}
    return f" {' or '.join(sorted(kinds))} "


def in_words(schema: dict[str, Any], definitions: dict[str, Any]) -> str:
    """A JSON schema in a few words."""
    if "$ref" in schema:
        return in_words(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "anyOf" in schema:
        return " or ".join(in_words(choice, definitions) for choice in schema["anyOf"])
    if "const" in schema or "enum" in schema:
        return " or ".join(
            f"`{value!r}`".replace("'", '"') for value in schema.get("enum", [schema.get("const")])
        )
    if schema.get("type") == "array":
        parts = [in_words(item, definitions) for item in schema.get("prefixItems", [])]
        return (
            f"list of ({', '.join(parts)})" if parts else f"list of {in_words(schema['items'], definitions)}"
        )
    kind = "`null`" if schema.get("type") == "null" else schema.get("type", "any")
    limits = [f"{word} {schema[name]:g}" for name, word in BOUNDS.items() if name in schema]
    return " ".join([kind, *limits])
