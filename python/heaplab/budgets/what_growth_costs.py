"""The price of growth beyond a budget: replays of the recording with and without the growth, in turns."""

from collections import defaultdict
from collections.abc import Sequence
from statistics import median

from heaplab.advise.replaying import Recording
from heaplab.advise.ways_tried import compared, pairs_of, share_of_run
from heaplab.budgets.growth_beyond import WHOLE, Beyond
from heaplab.budgets.spending import Spent, sites_of, spending_of
from heaplab.results.records import Arm
from heaplab.text import units
from heaplab.traces.profile import Profile

WORTH_MEMORY = 0.01  # share of the peak that matters


def cost_of(excesses: Sequence[Beyond], profile: Profile, recording: Recording, arm: Arm) -> str:
    """A sentence on whether the growth matters for time or memory; "" if no call site grew by itself."""
    shares = shares_of(excesses, profile)
    if not shares:
        return ""
    grown = recording.workload("grown").path
    without = recording.workload(
        "without", "--less", ",".join(f"{site}:{share:.6f}" for site, share in shares.items())
    ).path
    pairs = pairs_of(lambda: recording.cost(grown, arm), lambda: recording.cost(without, arm))
    less = compared(pairs)
    peak = median(cost.memory for cost, _ in pairs)
    share, memory = share_of_run(less, profile.seconds), less.memory[1]
    costs = [f"{units.percent(share)} of the run's time"] if share else []
    if less.memory[0] > 0 and memory >= WORTH_MEMORY * peak:
        costs.append(f"{units.show(memory, 'B')} of {units.show(peak, 'B')} of peak memory")
    if costs:
        return f"It matters: by replay the growth takes {' and '.join(costs)}."
    return "By replay the growth matters neither for time nor for peak memory."


def shares_of(excesses: Sequence[Beyond], profile: Profile) -> dict[int, float]:
    """By number of a call site, the share of its blocks that is growth; the same for all sites of a name."""
    totals: defaultdict[str, Spent] = defaultdict(Spent)
    for spender, spent in spending_of(profile).of.items():
        totals[spender.site] = totals[spender.site].plus(spent)
    shares: defaultdict[str, float] = defaultdict(float)
    for cost in excesses:
        if cost.spender != WHOLE:
            whole = totals[cost.spender.site]
            shares[cost.spender.site] += max(
                getattr(cost.more, what) / max(getattr(whole, what), 1) for what in cost.grown
            )
    return {site: min(share, 1.0) for name, share in shares.items() for site in sites_of(profile, name)}
