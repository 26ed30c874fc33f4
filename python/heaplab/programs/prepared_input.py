"""The surroundings of a program of the catalog: its input, made once, and a fresh copy for each run."""

import contextlib
import hashlib
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path

from heaplab.catalog.spec import Fixture
from heaplab.errors import HeaplabError, UsageError
from heaplab.programs.inputs import INPUTS

STANDARD_OUTPUT = "standard-output"  # file in the folder of a run


class PreparedInput:
    """Makes the input once. Every run gets a copy of the input in a new folder, its working directory.

    The first run is the reference and runs without any preloaded library. Every later run must write the same
    output.
    """

    def __init__(self, fixture: Fixture) -> None:
        """Raise HeaplabError if the input cannot be made."""
        if fixture.input not in INPUTS:
            raise UsageError(f"no input {fixture.input!r}; known: {', '.join(INPUTS)}")
        if missing := [name for name in fixture.needs if shutil.which(name) is None]:
            raise UsageError(f"{missing[0]}: no such program")
        self.fixture = fixture
        self.user = fixture.user if os.getuid() == 0 else ""  # account under which the program runs
        self._holder = Path(tempfile.mkdtemp(prefix="heaplab-"))
        self._remove = weakref.finalize(self, shutil.rmtree, self._holder, ignore_errors=True)
        self._input = self._holder / "input"
        self._input.mkdir()
        if self.user:
            self._holder.chmod(0o711)
            self._hand_over(self._input)
        INPUTS[fixture.input](self._input)
        self._expected = ""

    def close(self) -> None:
        """Remove the input.

        Without this call, heaplab removes the input when it ends, unless it is killed.
        """
        self._remove()

    @contextlib.contextmanager
    def copied(self) -> Iterator[Path]:
        """A folder with the input, which exists until the end of the block."""
        with tempfile.TemporaryDirectory(dir=self._holder) as name:
            folder = Path(shutil.copytree(self._input, name, dirs_exist_ok=True))
            if self.user:
                self._hand_over(folder)
            yield folder

    def fault_of(self, folder: Path) -> str:
        """How the output of a run in `folder` differs from that of the reference run; "" if it does not."""
        name = self.fixture.output or STANDARD_OUTPUT
        try:
            digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        except FileNotFoundError:
            return f"it left no file {name}"
        self._expected = self._expected or digest
        return "" if digest == self._expected else f"its {name} is not what it writes without the library"

    def _hand_over(self, folder: Path) -> None:
        """Give a folder with its contents to the account under which the program runs."""
        try:
            for path in (folder, *folder.rglob("*")):
                shutil.chown(path, self.user, self.user)
        except LookupError:
            raise HeaplabError(f"no user {self.user}; Debian's {self.fixture.package} makes it") from None
