"""The call sites that went beyond their budget."""

from collections.abc import Sequence
from dataclasses import dataclass

from heaplab.budgets.budget_file import Allowance, Budget
from heaplab.budgets.spending import Spender, Spending, Spent

WHOLE = Spender("all threads", "all call sites")
NONE = Allowance()


@dataclass(frozen=True)
class Beyond:
    """A call site that allocates more than it may."""

    spender: Spender
    planned: Spent
    now: Spent
    most: Spent  # the budget with its tolerance
    grown: tuple[str, ...]  # fields of Spent that are beyond the budget

    @property
    def more(self) -> Spent:
        """The growth over the planned amounts; 0 for an amount that shrank."""
        return Spent(*(max(0, now - planned) for now, planned in zip(self.now, self.planned, strict=True)))


def beyond(budget: Budget, spending: Spending) -> list[Beyond]:
    """The call sites beyond their budget, the most bytes first; the whole program at the end."""
    planned = budget.sites
    excesses = [
        judged(budget, spender, planned.get(spender, NONE), spent) for spender, spent in spending.of.items()
    ]
    excesses.sort(key=lambda excess: (-excess.more.bytes, -excess.more.calls, excess.spender))
    excesses.append(judged(budget, WHOLE, budget.total, spending.total))
    return [excess for excess in excesses if excess.grown]


def judged(budget: Budget, spender: Spender, allowance: Allowance, now: Spent) -> Beyond:
    planned = Spent(allowance.calls, allowance.bytes, allowance.peak)
    most = Spent(
        *(budget.tolerance.most(what, getattr(planned, what), allowance.tolerance) for what in Spent._fields)
    )
    grown = tuple(what for what in Spent._fields if getattr(now, what) > getattr(most, what))
    return Beyond(spender, planned, now, most, grown)


def in_each(runs: Sequence[Sequence[Beyond]]) -> list[Beyond]:
    """The call sites that are beyond their budget in every run, with the amounts of the last run."""
    *before, last = runs
    known = [{(excess.spender, what) for excess in run for what in excess.grown} for run in before]
    excesses = []
    for each in last:
        grown = tuple(what for what in each.grown if all((each.spender, what) in run for run in known))
        if grown:
            excesses.append(Beyond(each.spender, each.planned, each.now, each.most, grown))
    return excesses
