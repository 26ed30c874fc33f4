"""The server that the options of a command describe, or how they change the servers of a suite."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from heaplab.errors import HeaplabError, UsageError
from heaplab.options.server_options import FIELDS
from heaplab.programs.servers import port_of
from heaplab.results.server_spec import MAIN_METRIC, Server, idle_memory
from heaplab.results.spec import Experiment, Plot, Workload

NEEDED = ("ready", "load", "take")
OF_A_SUITE = ("idle", "bursts")  # options that also change the servers of a suite
Measured = tuple[list[Experiment], dict[str, Workload]]


def server_of(given: Mapping[str, Any]) -> Server | None:
    """The server that the options describe; None without such options."""
    if not given:
        return None
    if missing := [name for name in NEEDED if name not in given]:
        raise UsageError(f"--{missing[0]}: is missing; a server takes --ready, --load and --take")
    return checked({FIELDS[name]: value for name, value in given.items()})


def changed(
    experiments: Sequence[Experiment], workloads: Mapping[str, Workload], given: Mapping[str, Any]
) -> Measured:
    """The experiments and workloads of a suite with the given idle times and bursts of servers."""
    if strange := [name for name in given if name not in OF_A_SUITE]:
        raise UsageError(
            f"--{strange[0].replace('_', '-')} goes with a server: heaplab compare --ready tcp:PORT "
            "--load CMD --take READER -- SERVER"
        )
    if given and not any(work.server for work in workloads.values()):
        raise UsageError(f"--{next(iter(given))}: there is no server among what is to be measured")
    if not given:
        return list(experiments), dict(workloads)
    update = {FIELDS[name]: value for name, value in given.items()}
    works = {name: with_server(work, update) for name, work in workloads.items()}
    return [looking_at(item, works[item.workload].server) for item in experiments], works


def with_server(work: Workload, update: Mapping[str, Any]) -> Workload:
    if not work.server:
        return work
    server = checked({**work.server.model_dump(), **update})
    return Workload.model_validate(work.model_dump() | {"server": server})


def looking_at(experiment: Experiment, server: Server | None) -> Experiment:
    """The experiment with the metrics and plots of a server whose idle times and bursts were changed."""
    if server is None:
        return experiment
    return experiment.model_copy(update={"metrics": metrics_of(server), "plots": plots_of(server)})


def metrics_of(server: Server) -> list[str]:
    return [*server.metrics(), "peak_memory"]


def plots_of(server: Server) -> list[Plot]:
    """The cost of a request, the memory after the longest idle time, and memory over the whole run."""
    bars = [Plot(y=name) for name in (MAIN_METRIC, idle_memory(server.idle_s[-1]))]
    return [*bars, Plot(kind="series", series="process")]


def checked(content: Mapping[str, Any]) -> Server:
    """A server made of the values of options. Raises UsageError that names the option at fault."""
    options = {field: name.replace("_", "-") for name, field in FIELDS.items()}
    try:
        server = Server.model_validate({**content, "take": list(content["take"])})
        port_of(server.ready, 1)
    except ValidationError as error:
        first = error.errors()[0]
        place = options[str(first["loc"][0])] if first["loc"] else "idle"
        raise UsageError(f"--{place}: {first['msg'].removeprefix('Value error, ')}") from error
    except HeaplabError as error:
        raise UsageError(f"--{error}") from error
    return server
