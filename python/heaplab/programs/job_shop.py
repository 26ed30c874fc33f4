"""A plan of a workshop as a question to a solver: the input of cvc5."""

import random
from itertools import pairwise
from pathlib import Path

JOBS, MACHINES, LAST_HOUR = 12, 10, 170


def job_shop(folder: Path) -> None:
    """shop.smt2: every job visits all machines in an order of its own; no machine has two jobs at a time."""
    draw = random.Random(1)
    constraints, ends = [], []
    hours = {(job, machine): draw.randrange(1, 10) for job in range(JOBS) for machine in range(MACHINES)}
    for job in range(JOBS):
        order = draw.sample(range(MACHINES), MACHINES)
        constraints.append(f"(>= {start(job, order[0])} 0)")
        for machine, following in pairwise(order):
            constraints.append(after(start(job, following), start(job, machine), hours[job, machine]))
        constraints.append(f"(<= {start(job, order[-1])} {LAST_HOUR})")
        ends.append(start(job, order[-1]))
    for machine in range(MACHINES):
        for job in range(JOBS):
            for other in range(job):
                first, second = start(job, machine), start(other, machine)
                one_way = after(first, second, hours[other, machine])
                other_way = after(second, first, hours[job, machine])
                constraints.append(f"(or {one_way} {other_way})")
    lines = ["(set-option :produce-models true)", "(set-logic QF_IDL)"]
    lines += [f"(declare-const {start(job, machine)} Int)" for job, machine in hours]
    lines += [f"(assert {constraint})" for constraint in constraints]
    lines += ["(check-sat)", f"(get-value ({' '.join(ends)}))"]
    (folder / "shop.smt2").write_text("\n".join(lines) + "\n")


def start(job: int, machine: int) -> str:
    return f"start_{job}_{machine}"


def after(late: str, early: str, hours: int) -> str:
    """At least so many hours lie between two starts."""
    return f"(>= (- {late} {early}) {hours})"
