"""Real programs as workloads: their input, their environment, and the check of their output."""

from heaplab.programs.inputs import INPUTS
from heaplab.programs.prepared_input import PreparedInput
from heaplab.programs.prepared_program import CheckedExecution, PreparedProgram
from heaplab.programs.prepared_server import PreparedServer

__all__ = ["INPUTS", "CheckedExecution", "PreparedInput", "PreparedProgram", "PreparedServer"]
