"""The life of one server: started, ready, filled, under load, idle, told to end."""

import contextlib
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from heaplab.errors import HeaplabError
from heaplab.machine.execute import Execution, Launched, launch
from heaplab.machine.process_tree import TreeMemory, busiest, cpu_of, kill_tree, nothing_left
from heaplab.machine.watch import Limits, Look, no_look
from heaplab.programs.servers.client import Client, ShellCommand, filled, last_lines, listens, port_of
from heaplab.programs.servers.readers import read
from heaplab.programs.servers.server_metrics import Burst, metrics_of, refuse_failures
from heaplab.programs.servers.server_watch import OverLimitError, ServerEndedError, ServerWatch
from heaplab.results.records import Metric
from heaplab.results.server_spec import Server

POLL_S = 0.02  # between two checks whether the server is ready
CRASHES = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGTRAP)
ENDED = "the server ended"
EARLY_S = 1.0  # time that the ready command may take while the server is not there yet
STOP_S = 20.0  # time that a server may take to end after it was told to


@dataclass(frozen=True)
class ServerJob:
    """A run of a server. `limits.cpus` are the server's CPUs, `client_cpus` those of everything beside it."""

    command: Sequence[str | Path]
    server: Server
    environment: dict[str, str]
    limits: Limits
    client_cpus: frozenset[int]
    port: int  # for {port}
    log: IO[bytes]  # the server's output
    # Called with the process that did most of the work: why the intended library did not serve it, else "".
    prove: Callable[[int], str] = lambda _pid: ""
    folder: Path | None = None
    user: str = ""
    tick: Callable[[], None] = lambda: None
    look: Look = no_look  # at each sample of the server's memory


@dataclass(frozen=True)
class ServedRun:
    """The outcome of a server's run. `metrics` are complete if `fault` and `unproved` are both ""."""

    execution: Execution
    fault: str = ""  # the error in one line
    unproved: str = ""  # why the figures say nothing about the intended allocator
    metrics: dict[str, Metric] = field(default_factory=dict)


def serve(job: ServerJob) -> ServedRun:
    """Run one server from start to end. Raises HeaplabError if the server could not be started."""
    client = Client(job.folder, job.port, job.client_cpus)
    refuse_occupied(job, client)
    with contextlib.ExitStack() as at_end:
        at_end.enter_context(nothing_left())
        options: dict[str, Any] = {"stdout": job.log, "stderr": job.log, "cwd": job.folder}
        if job.user:
            options |= {"user": job.user, "group": job.user, "extra_groups": []}
        command = [filled(str(word), job.port) for word in job.command]
        launched = launch(command, job.environment, job.limits, at_end, **options)
        at_end.callback(kill_tree, launched.child.pid)
        watch = ServerWatch(launched.child.pid, launched.begin, job.limits, job.tick, job.look)
        return LiveServer(job, client, launched, at_end.enter_context(watch)).run()


def refuse_occupied(job: ServerJob, client: Client) -> None:
    """Raise HeaplabError if another server answers, which would be measured in place of this one."""
    port = port_of(job.server.ready, job.port)
    if port is not None and listens(port):
        raise HeaplabError(f"port {port} is in use: end what listens there, or let {{port}} stand for it")
    if port is None and client.succeeds(job.server.ready, lambda command: ended_within(command, EARLY_S)):
        asked = filled(job.server.ready, job.port)
        raise HeaplabError(
            f"`{asked}` succeeds before the server is started: it does not tell whether that is "
            "ready, or another server is running"
        )


def ended_within(command: ShellCommand, seconds: float) -> None:
    """Wait for a command; kill it when the time is up."""
    until = time.monotonic() + seconds
    while command.running and time.monotonic() < until:
        time.sleep(POLL_S)
    command.kill()


class LiveServer:
    """A server that was started and has not ended."""

    def __init__(self, job: ServerJob, client: Client, launched: Launched, watch: ServerWatch) -> None:
        self._job = job
        self._server = job.server
        self._client = client
        self._launched = launched
        self._watch = watch
        self._doing = ""  # the present step, for the message if the server ends during it

    def run(self) -> ServedRun:
        """The whole life of the server. An error ends the life and is reported."""
        metrics: dict[str, Metric] = {}
        fault = unproved = killed_for = ""
        try:
            metrics, unproved = self._measured()
            fault = self._stopped()
        except OverLimitError as error:
            killed_for = error.limit
        except ServerEndedError:
            fault = f"{ENDED} {self._doing}"
        except HeaplabError as error:
            fault = str(error)
        kill_tree(self._launched.child.pid)
        # One sample suffices: one is taken at the end of every load.
        lived = time.monotonic() - self._launched.begin
        process = self._launched.reaped(self._watch.curve, lived, fewest_samples=1)
        if fault.startswith(ENDED):
            fault = f"{fault}: {self._last_words()}"
        elif not fault and not killed_for and -self._launched.child.returncode in CRASHES:
            fault = f"the server crashed when it was told to end: {self._last_words()}"
        execution = Execution(0 if metrics else 1, killed_for, process)
        return ServedRun(execution, fault, unproved, metrics)

    def _measured(self) -> tuple[dict[str, Metric], str]:
        """The metrics, and why they would say nothing about the intended allocator."""
        self._doing = "before it was ready"
        self._until_ready()
        if self._server.fill:
            self._carried_out(self._server.fill, "what fills the server")
        bursts = []
        for number in range(self._server.bursts):
            if number:
                self._doing = "between two bursts"
                self._watch.wait(self._server.idle_s[0])
            bursts.append(self._burst())
        idle = self._idle()
        process = busiest(self._watch.tree())
        unproved = "the server was gone" if process is None else self._job.prove(process)
        if self._server.check:
            self._carried_out(self._server.check, "the check")
        return metrics_of(self._server, bursts, idle), unproved

    def _until_ready(self) -> None:
        until = time.monotonic() + self._server.ready_within_s
        while not self._is_ready(until):
            if time.monotonic() > until:
                asked = filled(self._server.ready, self._job.port)
                limit = self._server.ready_within_s
                wrote = last_lines(self._job.log) or "nothing"
                raise HeaplabError(
                    f"not ready within {limit:g} s, `{asked}` did not succeed; the server wrote: {wrote}"
                )
            self._watch.wait(POLL_S)

    def _is_ready(self, until: float) -> bool:
        port = port_of(self._server.ready, self._job.port)
        if port is not None:
            return listens(port)

        def wait(command: ShellCommand) -> None:
            if not self._watch.wait(max(POLL_S, until - time.monotonic()), command.ending):
                command.kill()

        return self._client.succeeds(self._server.ready, wait)

    def _carried_out(self, text: str, what: str) -> None:
        """Run a command to its end. Raises HeaplabError if the command fails."""
        self._doing = f"during {what}"
        with self._client.started(text) as command:
            self._watch.wait(self._job.limits.time, command.ending)
            refuse_failed(command, what)

    def _burst(self) -> Burst:
        """One run of the load generator.

        The memory is the last sample taken while the load generator ran: when it ends, its connections end
        too, and in some servers the processes that served them.
        """
        self._doing = "during the load"
        self._watch.forget()
        before, began = sum(cpu_of(self._watch.tree()).values()), time.monotonic()
        with self._client.started(self._server.load) as command:
            self._watch.wait(self._job.limits.time, command.ending)
            wall, cpu = time.monotonic() - began, sum(cpu_of(self._watch.tree()).values()) - before
            memory = self._watch.latest()
            refuse_failed(command, "the load generator")
            figures = read(self._server.take, command.text())
        refuse_failures(figures)
        return Burst(max(0.0, cpu), wall, figures, memory)

    def _idle(self) -> dict[float, TreeMemory]:
        """The memory after each idle time."""
        self._doing = "while it was idle"
        began, memory = time.monotonic(), {}
        for seconds in self._server.idle_s:
            self._watch.wait(began + seconds - time.monotonic())
            memory[seconds] = self._watch.sample()
        return memory

    def _stopped(self) -> str:
        """Tell the server to end. Returns what went wrong, or ""."""
        child, chosen = self._launched.child, self._server.stop_signal
        with contextlib.ExitStack() as at_end:
            if chosen is not None:
                child.send_signal(chosen)
            else:
                at_end.enter_context(self._client.started(self._server.stop))
            with contextlib.suppress(ServerEndedError):
                self._watch.wait(STOP_S)
                return f"did not end within {STOP_S:g} s after `{filled(self._server.stop, self._job.port)}`"
        return ""

    def _last_words(self) -> str:
        status, told = self._launched.child.returncode, last_lines(self._job.log)
        how = f"exit status {status}" if status >= 0 else f"killed by {signal.Signals(-status).name}"
        return f"{how}; it wrote: {told}" if told else f"{how}; it wrote nothing"


def refuse_failed(command: ShellCommand, what: str) -> None:
    if status := command.exit_status:
        told = command.last()
        raise HeaplabError(f"{what} failed with exit status {status}" + (f": {told}" if told else ""))
