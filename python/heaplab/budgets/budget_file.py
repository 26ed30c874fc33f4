"""The file of a budget: read, checked, and written so that a change of one call site changes one line."""

import json
import math
from collections.abc import Sequence
from pathlib import Path

from pydantic import Field

from heaplab.budgets.spending import Spender, Spending, Spent
from heaplab.catalog import toml_file
from heaplab.results.checked import Spec

SAFETY = 2  # factor on the spread of the runs, because more runs would spread wider


class Tolerance(Spec):
    """The growth that is tolerated: a share of the amount, or a number."""

    calls: float = Field(default=0.05, ge=0)
    bytes: float = Field(default=0.05, ge=0)
    peak: float = Field(default=0.1, ge=0)
    spare_calls: int = Field(default=16, ge=0)
    spare_bytes: int = Field(default=4096, ge=0)

    def most(self, what: str, amount: int, own: float | None) -> int:
        share = getattr(self, what) if own is None else max(own, getattr(self, what))
        return max(
            int(amount * (1 + share)), amount + (self.spare_calls if what == "calls" else self.spare_bytes)
        )


class Allowance(Spec):
    """The most that the blocks of a call site may add up to."""

    calls: int = Field(default=0, ge=0)
    bytes: int = Field(default=0, ge=0)
    peak: int = Field(default=0, ge=0)
    tolerance: float | None = Field(default=None, ge=0)  # of a call site that varies from run to run


class Budget(Spec):
    program: str
    tolerance: Tolerance = Field(default=Tolerance())
    total: Allowance
    threads: dict[str, dict[str, Allowance]] = Field(default={})

    @property
    def sites(self) -> dict[Spender, Allowance]:
        return {
            Spender(thread, site): allowance
            for thread, sites in self.threads.items()
            for site, allowance in sites.items()
        }


def read(path: Path) -> Budget:
    """Raises UsageError with one line that names file, key and fault."""
    return toml_file.checked(Budget, path, toml_file.content_of(path))


def made_of(program: str, runs: Sequence[Spending], tolerance: Tolerance) -> Budget:
    """A budget that all runs keep; call sites within the spare amounts need no line."""
    threads: dict[str, dict[str, Allowance]] = {}
    for spender in sorted({spender for run in runs for spender in run.of}):
        allowance = allowance_of([run.of.get(spender, Spent()) for run in runs], tolerance)
        if allowance.calls > tolerance.spare_calls or allowance.bytes > tolerance.spare_bytes:
            threads.setdefault(spender.thread, {})[spender.site] = allowance
    total = allowance_of([run.total for run in runs], tolerance)
    return Budget(program=program, tolerance=tolerance, total=total, threads=threads)


def allowance_of(runs: Sequence[Spent], tolerance: Tolerance) -> Allowance:
    most = Spent(*map(max, zip(*runs, strict=True)))
    least = Spent(*map(min, zip(*runs, strict=True)))
    wider = [
        SAFETY * (1 - getattr(least, what) / getattr(most, what))
        for what in Spent._fields
        if getattr(most, what) > tolerance.most(what, getattr(least, what), None)
    ]
    own = math.ceil(100 * max(wider)) / 100 if wider else None
    return Allowance(**most._asdict(), tolerance=own)


def text_of(budget: Budget, name: str) -> str:
    """The content of a file of this name."""
    lines = [
        "# What the program may allocate, by thread and call site. To check it:",
        f"#   heaplab budget {name} -- {budget.program}",
        "# --update writes this file anew, but for [tolerance]: shares, and amounts that are always spare.",
        "# peak: bytes live at a time, summed over the threads of a name.",
        f"program = {quoted(budget.program)}",
        "",
        "[tolerance]",
        *(f"{key} = {value}" for key, value in budget.tolerance),
        "",
        "[total]",
        *(f"{key} = {value}" for key, value in budget.total if value is not None),
    ]
    for thread, sites in budget.threads.items():
        lines += ["", f"[threads.{quoted(thread)}]"]
        lines += [f"{quoted(site)} = {inline(allowance)}" for site, allowance in sites.items()]
    return "\n".join([*lines, ""])


def inline(allowance: Allowance) -> str:
    parts = ", ".join(f"{key} = {value}" for key, value in allowance if value is not None)
    return f"{{{parts}}}"


def quoted(text: str) -> str:
    """The text as a basic string of TOML, which escapes like JSON, and also the character DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
