"""Requests to end are heeded, also where Python drops the exception."""

import sys

import pytest
from subprocesses import HEEDING, ran

# heaplab that is told to end in a finaliser, whose exceptions Python drops.
TOLD_IN_A_FINALISER = """
import os, signal, sys, time
from heaplab.machine import signals
signals.listen()
class Finalised:
    def __del__(self):
        os.kill(os.getpid(), signal.{number})
        time.sleep(0.001)
try:
    Finalised()
    time.sleep(60)
except KeyboardInterrupt:
    sys.exit(7)
"""


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_request_to_end_is_not_lost_when_it_comes_in_a_finaliser(number: str) -> None:
    done = ran(*HEEDING, sys.executable, "-c", TOLD_IN_A_FINALISER.format(number=number))
    assert (done.returncode, done.stderr) == (7, "")


# A command that is told to end, in an interpreter that would take long to take apart.
TOLD_IN_A_COMMAND = """
import atexit, os, signal, time
from heaplab import commands
def told_to_end(**_):
    os.kill(os.getpid(), signal.{number})
    time.sleep(60)
atexit.register(print, "taken apart")
commands.commands.main = told_to_end
commands.main()
"""


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_command_that_is_told_to_end_leaves_without_taking_the_interpreter_apart(number: str) -> None:
    done = ran(*HEEDING, sys.executable, "-c", TOLD_IN_A_COMMAND.format(number=number))
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "heaplab: interrupted\n")


def test_other_errors_of_a_finaliser_are_still_told() -> None:
    program = TOLD_IN_A_FINALISER.format(number="nothing").replace("sleep(60)", "sleep(0)")
    done = ran(sys.executable, "-c", program)
    assert done.returncode == 0
    assert "AttributeError" in done.stderr
