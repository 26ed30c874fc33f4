"""What load generators tell is read from outputs that they really wrote, in `load_outputs`.

Those of memtier and wrk2 are from issues and documentation of their projects, the others from Debian's tools.
"""

from pathlib import Path

import pytest

from heaplab.errors import HeaplabError
from heaplab.programs.servers import readers
from heaplab.programs.servers.readers import read
from heaplab.results.load_generators import READERS
from heaplab.results.server_spec import Server, taken_figure

OUTPUTS = Path(__file__).parent / "load_outputs"


def figures(requests: int, throughput: float, **latencies: float) -> dict[str, float]:
    """What a reader finds where no request failed; latencies in s."""
    by_name = {f"latency_{name}": value for name, value in latencies.items()}
    return {"requests": requests, "errors": 0, "throughput": throughput} | by_name


EXPECTED = {
    "wrk": figures(121448, 57816.41, p50=95e-6, p99=9.07e-3),
    "wrk2": figures(60018, 2000.28, p50=6.67e-3, p99=11.18e-3, p999=12.3e-3),
    "redis-benchmark": figures(40000, 40000 / 1.92, p50=0.831e-3, p99=12.167e-3, p999=13.231e-3),
    "memtier": figures(60000000, 62355.66, p50=2.863e-3, p99=8.575e-3, p999=12.991e-3),
    "pgbench": figures(3251, 1625.135157, mean=2.461e-3),
    "ab": figures(5000, 65439.89, p99=4e-3),
    "h2load": figures(5000, 54133.06, mean=796e-6),
}


def written(name: str) -> str:
    return (OUTPUTS / f"{name}.txt").read_bytes().decode()


@pytest.mark.parametrize("name", READERS)
def test_a_reader_finds_the_figures_of_its_tool(name: str) -> None:
    assert read([name], written(name)) == pytest.approx(EXPECTED[name])


@pytest.mark.parametrize("name", READERS)
def test_a_reader_gives_no_latency_that_is_not_declared(name: str) -> None:
    latencies = {figure for figure in EXPECTED[name] if figure.startswith("latency")}
    assert latencies <= set(READERS[name])
    assert set(readers.READERS) == set(READERS)


@pytest.mark.parametrize("name", READERS)
def test_the_output_of_another_tool_is_told(name: str) -> None:
    with pytest.raises(HeaplabError, match=rf"^{name} tells no .*; its last line: Run time: 2.0s Ops"):
        read([name], written("memaslap"))


def test_a_quiet_redis_benchmark_does_not_tell_its_requests() -> None:
    with pytest.raises(HeaplabError, match="no number of requests with -q or --csv: leave the option out"):
        read(["redis-benchmark"], written("redis-benchmark-q"))


def test_requests_that_failed_are_not_answered() -> None:
    text = written("wrk").replace("Requests/sec", "Non-2xx or 3xx responses: 448\nRequests/sec")
    assert read(["wrk"], text)["requests"] == 121000
    assert read(["wrk"], text)["errors"] == 448
    text = written("ab").replace("Failed requests:        0", "Failed requests:        70")
    assert read(["ab"], text)["requests"] == 4930
    text = written("h2load").replace("5000 succeeded, 0 failed", "4000 succeeded, 1000 failed")
    found = read(["h2load"], text)
    assert (found["requests"], found["errors"]) == (4000, 1000)


def test_a_figure_of_the_users_wins_and_comes_in_its_unit() -> None:
    take = [
        "wrk",
        "latency_p99:ms=99%.*?([0-9.]+)ms",
        r"size:MiB=([0-9.]+)MB read",
        r"throughput=in ([0-9.]+)s",
    ]
    found = read(take, written("wrk"))
    assert found["latency_p99"] == pytest.approx(9.07e-3)
    assert found["size"] == pytest.approx(17.72 * (1 << 20))
    assert found["throughput"] == pytest.approx(2.1)


def test_the_last_place_counts_and_thousands_may_have_commas() -> None:
    assert read(["requests=([0-9,]+) done"], "10 done\n1,234,567 done\n")["requests"] == 1234567


@pytest.mark.parametrize(
    ("take", "fault"),
    [
        ("requests=nowhere: ([0-9]+)", "'nowhere: ([0-9]+)' is found nowhere in what --load writes"),
        ("requests=Run (....)", "'time' is no number"),
        ("requests=(TPS|Ops)", "'TPS' is no number"),
    ],
)
def test_a_figure_that_is_not_there_is_told(take: str, fault: str) -> None:
    with pytest.raises(HeaplabError) as told:
        read([take], written("memaslap"))
    assert str(told.value) == f"--take requests: {fault}"


@pytest.mark.parametrize(
    ("take", "fault"),
    [
        (
            "wrk3",
            "'wrk3' is neither one of wrk, wrk2, redis-benchmark, memtier, pgbench, ab, h2load nor NAME",
        ),
        ("requests=[0-9]+", r"'requests=\[0-9\]\+': needs one group, around the number"),
        ("requests=([0-9]+) of ([0-9]+)", "needs one group"),
        ("requests=(", "not a regular expression: missing \\)"),
        ("rate:furlong=([0-9]+)", "the unit of rate is one of s, ms, .*, not 'furlong'"),
        ("latency_p99:MiB=([0-9]+)", "the unit of latency_p99 is one of s, ms, us, ns, not 'MiB'"),
    ],
)
def test_what_cannot_be_taken_is_refused(take: str, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        taken_figure(take)


def test_what_is_measured_follows_from_what_is_taken() -> None:
    take = ["pgbench", "rate:MiB=([0-9]+)", "replies:1/s=([0-9]+)"]
    metrics = Server(ready="tcp:1", load="x", take=take, idle_s=[0.5, 60], bursts=2).metrics()
    assert list(metrics) == [
        "cpu_per_request",
        "throughput",
        "latency_mean",
        "rate",
        "replies",
        "memory_after_load",
        "memory_after_0.5s",
        "memory_after_60s",
        "lazily_freed",
        "lazily_freed_after_0.5s",
        "lazily_freed_after_60s",
        "memory_growth",
    ]
    assert metrics["rate"] == ("rate", "B", "lower")
    assert metrics["replies"] == ("replies", "1/s", "higher")
    assert metrics["memory_after_60s"].title == "memory after 60 s idle"


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ({"take": ["rate=([0-9]+)"]}, "nothing gives the number of requests"),
        ({"take": []}, "at least 1 item"),
        ({"idle_s": [2, 1]}, "each is longer than the one before"),
        ({"idle_s": [0]}, "above zero"),
        ({"bursts": 0}, "greater than or equal to 1"),
    ],
)
def test_a_server_that_cannot_be_measured_is_refused(content: dict[str, object], fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        Server.model_validate({"ready": "tcp:1", "load": "x", "take": ["wrk"]} | content)
