"""Results files of schema 1, read as records of schema 2.

Schema 2 uses one word for one thing: times are called `wall_time`, `user_time`, `system_time` and `cpu_time`
everywhere, the surroundings of a program of the catalog are its `fixture`, and a swept name that stands for
several parameters has `presets`. docs/results-format.md lists the changes.
"""

from collections.abc import Collection, Mapping
from typing import Any

SCHEMA_1 = 1
TIMES = {"wall": "wall_time", "user": "user_time", "system": "system_time", "cpu": "cpu_time"}

Json = dict[str, Any]


def upgraded(record: Json) -> Json:
    """The record of schema 2 for a record of schema 1.

    A malformed record stays malformed, or raises AttributeError, KeyError or TypeError.
    """
    match record.get("kind"):
        case "campaign":
            return _campaign(record)
        case "run" if record.get("process"):
            return record | {"process": _renamed(record["process"], TIMES)}
    return record


def _renamed(content: Json, names: Mapping[str, str]) -> Json:
    return {names.get(name, name): value for name, value in content.items()}


def _campaign(record: Json) -> Json:
    declared = {name: work.get("metrics", {}) for name, work in record["workloads"].items()}
    pilot = record.get("pilot")  # absent in the oldest files
    return record | {
        "schema": 2,
        "pilot": pilot and _renamed(pilot, TIMES),
        "workloads": {name: _workload(work) for name, work in record["workloads"].items()},
        "experiments": [_experiment(item, declared[item["workload"]]) for item in record["experiments"]],
    }


def _metric(name: str, declared: Collection[str]) -> str:
    """The present name of a metric; a metric declared by the workload keeps its name."""
    return name if name in declared else TIMES.get(name, name)


def _workload(work: Json) -> Json:
    main = _metric(work["main_metric"], work["metrics"])
    fixture = work.get("setting") and {name: it for name, it in work["setting"].items() if name != "driver"}
    return _renamed(work, {"setting": "fixture"}) | {"main_metric": main, "fixture": fixture}


def _experiment(item: Json, declared: Collection[str]) -> Json:
    return _renamed(item, {"settings": "presets"}) | {
        "metrics": [_metric(name, declared) for name in item["metrics"]],
        "main_metric": _metric(item["main_metric"], declared),
        "plots": [plot | {"y": _metric(plot["y"], declared)} for plot in item["plots"]],
        "expectations": [_expectation(one, declared) for one in item["expectations"]],
        "quick": _renamed(item["quick"], {"settings": "presets"}),
        "full": _renamed(item["full"], {"settings": "presets"}),
    }


def _expectation(expectation: Json, declared: Collection[str]) -> Json:
    arguments = expectation["arguments"]
    if "metric" not in arguments:
        return expectation
    return expectation | {"arguments": arguments | {"metric": _metric(arguments["metric"], declared)}}
