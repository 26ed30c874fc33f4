"""Readers of the output of load generators, which yield figures in base units: s, requests, 1/s.

A reader yields the number of successful and of failed requests, the throughput, and latencies as far as the
tool reports them. A latency that the tool rounds to zero is left out.
"""

import re
from collections.abc import Callable, Sequence

from heaplab.errors import HeaplabError
from heaplab.results.server_spec import ERRORS, REQUESTS, THROUGHPUT, TakenFigure, taken_figure

NUMBER = r"(\d+(?:\.\d+)?)"
TIME_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
ANY_NUMBER = re.compile(r"[-+]?(?:\d[\d,]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")

Figures = dict[str, float]


class LoadOutput:
    """The output of one load generator. Its searches raise an error that names what is missing."""

    def __init__(self, tool: str, text: str) -> None:
        self.tool = tool
        self.text = text

    def number(self, regex: str, what: str) -> float:
        """The number in the only group of `regex`."""
        if match := re.search(regex, self.text, re.MULTILINE):
            return float(match[1])
        last = next((line.strip() for line in reversed(self.text.splitlines()) if line.strip()), "")
        raise HeaplabError(f"{self.tool} tells no {what}; its last line: {last[:120] or 'none'}")

    def count(self, regex: str) -> float:
        """The sum of all numbers in the groups of `regex`; 0 without a match."""
        matches = re.findall(regex, self.text, re.MULTILINE)
        return sum(float(text) for many in matches for text in ([many] if isinstance(many, str) else many))

    def time(self, regex: str) -> float | None:
        """The time in s; the two groups of `regex` match number and unit."""
        match = re.search(regex, self.text, re.MULTILINE)
        return float(match[1]) * TIME_UNITS[match[2]] if match else None


def known(**latencies: float | None) -> Figures:
    return {f"latency_{name}": value for name, value in latencies.items() if value}


def wrk(output: LoadOutput) -> Figures:
    """Reads wrk and wrk2, which writes percentiles with three decimals.

    Both need --latency for percentiles.
    """
    errors = output.count(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)")
    wrong = output.count(r"Non-2xx or 3xx responses: (\d+)")
    requests = output.number(r"(\d+) requests in ", "number of requests") - wrong
    unit = NUMBER + r"(us|ms|s|m|h)\b"
    return {
        REQUESTS: requests,
        ERRORS: errors + wrong,
        THROUGHPUT: output.number(r"^Requests/sec: +" + NUMBER, "requests a second"),
        **known(
            p50=output.time(r"^ *50(?:\.000)?% +" + unit),
            p99=output.time(r"^ *99(?:\.000)?% +" + unit),
            p999=output.time(r"^ *99\.900% +" + unit),
        ),
    }


def redis_benchmark(output: LoadOutput) -> Figures:
    """Requests and times of several tests are summed; the largest percentile counts."""
    if "requests per second" in output.text and "requests completed" not in output.text:
        raise HeaplabError(
            "redis-benchmark tells no number of requests with -q or --csv: leave the option out"
        )
    output.number(r"(\d+) requests completed in", "number of requests")
    requests = output.count(r"(\d+) requests completed in")
    seconds = output.count(rf"requests completed in {NUMBER} seconds")
    row = " +".join([NUMBER] * 6)
    summaries = re.findall(rf"^ *avg +min +p50 +p95 +p99 +max *\n *{row}", output.text, re.MULTILINE)
    tails = [
        min((float(at) for share, at in spectrum if float(share) >= 99.9), default=0.0)
        for section in re.split(r"^ *Latency by percentile", output.text, flags=re.MULTILINE)[1:]
        for spectrum in [
            re.findall(rf"^{NUMBER}% <= {NUMBER} milliseconds", section.split("\n\n")[0], re.MULTILINE)
        ]
    ]
    return {
        REQUESTS: requests,
        ERRORS: 0.0,
        THROUGHPUT: requests / seconds if seconds else 0.0,
        **known(
            p50=max((float(row[2]) for row in summaries), default=0.0) * 1e-3,
            p99=max((float(row[4]) for row in summaries), default=0.0) * 1e-3,
            p999=max(tails, default=0.0) * 1e-3,
        ),
    }


def memtier(output: LoadOutput) -> Figures:
    """The number of requests is only on standard error; rates and percentiles are in the row Totals."""
    output.number(r"\[RUN #\d+ \d+%.*?(\d+) ops,", "number of requests on its standard error")
    counts = dict(re.findall(r"\[RUN #(\d+) \d+%[^\]]*\][^\r\n]*?(\d+) ops,", output.text))
    output.number(r"^Totals +" + NUMBER, "row Totals")
    head = re.findall(r"^Type +(.+)$", output.text, re.MULTILINE)[-1]
    values = re.findall(r"^Totals +(.+)$", output.text, re.MULTILINE)[-1].split()
    row = dict(zip(re.split(r"  +| (?=p\d)", head.strip()), values, strict=False))

    def percentile(name: str) -> float:
        text = row.get(f"p{name} Latency", "---")
        return 0.0 if text == "---" else float(text) * 1e-3

    return {
        REQUESTS: sum(map(float, counts.values())),
        ERRORS: 0.0,
        THROUGHPUT: float(row["Ops/sec"]),
        **known(p50=percentile("50"), p99=percentile("99"), p999=percentile("99.9")),
    }


def pgbench(output: LoadOutput) -> Figures:
    return {
        REQUESTS: output.number(r"transactions actually processed: (\d+)", "number of transactions"),
        ERRORS: output.count(r"number of failed transactions: (\d+)"),
        THROUGHPUT: output.number(rf"^tps = {NUMBER}", "transactions a second"),
        **known(mean=output.time(rf"^latency average = {NUMBER} (ms)")),
    }


def ab(output: LoadOutput) -> Figures:
    """Percentiles are in whole milliseconds."""
    errors = output.count(r"^(?:Failed requests|Non-2xx responses): +(\d+)")
    complete = output.number(r"^Complete requests: +(\d+)", "number of requests")
    return {
        REQUESTS: max(0.0, complete - errors),
        ERRORS: errors,
        THROUGHPUT: output.number(rf"^Requests per second: +{NUMBER}", "requests a second"),
        **known(p50=output.count(r"^ +50% +(\d+)$") * 1e-3, p99=output.count(r"^ +99% +(\d+)$") * 1e-3),
    }


def h2load(output: LoadOutput) -> Figures:
    return {
        REQUESTS: output.number(r"^requests: .* (\d+) succeeded", "number of requests"),
        ERRORS: output.count(r"^requests: .* (\d+) failed"),
        THROUGHPUT: output.number(rf"^finished in .*, {NUMBER} req/s", "requests a second"),
        **known(mean=output.time(rf"^time for request: +\S+ +\S+ +{NUMBER}(us|ms|s)\b")),
    }


READERS: dict[str, Callable[[LoadOutput], Figures]] = {
    "wrk": wrk,
    "wrk2": wrk,
    "redis-benchmark": redis_benchmark,
    "memtier": memtier,
    "pgbench": pgbench,
    "ab": ab,
    "h2load": h2load,
}


def read(take: Sequence[str], text: str) -> Figures:
    """All figures of an output; figures named by the user take precedence. Raises HeaplabError."""
    figures: Figures = {}
    for name in take:
        if name in READERS:
            figures |= READERS[name](LoadOutput(name, text))
    own = [taken_figure(reader) for reader in take if reader not in READERS]
    return figures | {figure.name: figure_in(text, figure) for figure in own}


def figure_in(text: str, figure: TakenFigure) -> float:
    """The last match of the regular expression counts, because tools write their totals at the end."""
    matches = figure.pattern.findall(text)
    if not matches:
        raise HeaplabError(
            f"--take {figure.name}: {figure.pattern.pattern!r} is found nowhere in what --load writes"
        )
    if not ANY_NUMBER.fullmatch(matches[-1].strip()):
        raise HeaplabError(f"--take {figure.name}: {matches[-1][:60]!r} is no number")
    return float(matches[-1].strip().replace(",", "")) * figure.factor
