"""Rooms whose names are imported when they are first used."""

import importlib
from pathlib import Path

import pytest

import heaplab
from heaplab.lazy import homes

ROOMS = sorted(path.parent for path in Path(heaplab.__file__).parent.glob("*/__init__.py"))


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_no_name_of_a_room_is_hidden_by_a_module(room: Path) -> None:
    """Importing a module sets the room's attribute of its name, so a function of that name would be lost."""
    names = homes((room / "__init__.py").read_bytes())
    assert not names.keys() & {path.stem for path in room.glob("*.py")}
    found = importlib.import_module(f"heaplab.{room.name}")
    assert all(getattr(found, name) is not None for name in names)


def test_a_name_that_a_room_lacks_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such"):
        getattr(importlib.import_module("heaplab.stats"), "no" + "_such")
