"""The outcome of a budget: on the terminal, for a pull request, as JUnit XML."""

from collections.abc import Sequence
from pathlib import Path

from junitparser import Failure, JUnitXml, TestCase, TestSuite
from rich.console import Console
from rich.markup import escape

from heaplab.budgets.budget_file import Budget
from heaplab.budgets.growth_beyond import WHOLE, Beyond
from heaplab.budgets.spending import Spender, Spent
from heaplab.screen.console import Column, put, put_table
from heaplab.text import markdown, units

HEADS = ("thread", "call site", "calls", "bytes", "peak")
UNITS = {"calls": "1", "bytes": "B", "peak": "B"}
MOST_ROWS = 20


def headline(budget: Budget, excesses: Sequence[Beyond]) -> str:
    if not excesses:
        asked = units.counted(len(budget.sites), "call site")
        return f"WITHIN BUDGET: {asked} of {units.counted(len(budget.threads), 'thread')}, and all others."
    sites = sum(excess.spender != WHOLE for excess in excesses)
    if not sites:
        return f"OVER BUDGET: the whole program, by many call sites a little: {more(excesses[0])}."
    first = excesses[0]
    return (
        f"OVER BUDGET: {units.counted(sites, 'call site')}; most grew {first.spender.site} of thread "
        f"{first.spender.thread}: {more(first)}."
    )


def more(beyond: Beyond) -> str:
    said = {
        "calls": f"{units.counted(beyond.more.calls, 'call')} more",
        "bytes": f"{units.show(beyond.more.bytes, 'B')} more",
        "peak": f"{units.show(beyond.more.peak, 'B')} more at a time",
    }
    return ", ".join(said[what] for what in beyond.grown)


def fields(beyond: Beyond) -> list[str]:
    """One row, in the order of HEADS: planned, now, and the allowed amount if now is more."""
    return [*beyond.spender, *(field(beyond, what) for what in Spent._fields)]


def field(beyond: Beyond, what: str) -> str:
    planned, now, most = (
        units.show(getattr(amounts, what), UNITS[what])
        for amounts in (beyond.planned, beyond.now, beyond.most)
    )
    if what in beyond.grown:
        return f"{planned} → {now}, may be {most}"
    return planned if planned == now else f"{planned} → {now}"


def print_budget(budget: Budget, excesses: Sequence[Beyond], costs: str, console: Console) -> None:
    put(console, f"[bold {'red' if excesses else 'green'}]{escape(headline(budget, excesses))}[/]")
    if costs:
        put(console, escape(costs))
    rows = [fields(excess) for excess in excesses[:MOST_ROWS]]
    if rows:
        texts = [[escape(text) for text in column] for column in zip(*rows, strict=True)]
        put_table(console, [Column(head, column) for head, column in zip(HEADS, texts, strict=True)])
    if len(excesses) > MOST_ROWS:
        put(console, f"and {len(excesses) - MOST_ROWS} more")


def as_markdown(budget: Budget, excesses: Sequence[Beyond], costs: str, command: str) -> str:
    """A table for a comment on a pull request."""
    table = markdown.table(HEADS, [fields(excess) for excess in excesses]) if excesses else ""
    return "\n".join(
        [f"**heaplab budget: {headline(budget, excesses)}**", "", costs, "", table, f"`{command}`", ""]
    )


def write_junit(budget: Budget, excesses: Sequence[Beyond], path: Path) -> None:
    """A test case for each call site that is budgeted or beyond. Raises OSError."""
    failed = {excess.spender: excess for excess in excesses}
    suite = TestSuite("heaplab budget")
    suite.add_testcases(
        [case_of(spender, failed.get(spender)) for spender in dict.fromkeys([*budget.sites, *failed])]
    )
    document = JUnitXml("heaplab budget")
    document.add_testsuite(suite)
    document.write(str(path), pretty=True)


def case_of(spender: Spender, beyond: Beyond | None) -> TestCase:
    case = TestCase(spender.site, f"heaplab.budget.{spender.thread}")
    if beyond:
        said = "; ".join(f"{what} {field(beyond, what)}" for what in beyond.grown)
        case.result = [Failure(said, "beyond")]
    return case
