"""Real programs as workloads: their input, their environment, and the check of their output."""

from heaplab.programs.inputs import INPUTS
from heaplab.programs.prepared_program import CheckedExecution, PreparedProgram

__all__ = ["INPUTS", "CheckedExecution", "PreparedProgram"]
