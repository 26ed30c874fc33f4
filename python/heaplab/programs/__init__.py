"""Real programs as workloads: their input, their surroundings, and whether what they wrote is right."""

from heaplab.programs.inputs import INPUTS
from heaplab.programs.prepared_program import CheckedExecution, PreparedProgram

__all__ = ["INPUTS", "CheckedExecution", "PreparedProgram"]
