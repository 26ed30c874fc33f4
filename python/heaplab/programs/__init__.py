"""Real programs as workloads: their input, their environment, and the check of their output."""

from heaplab.programs.inputs import INPUTS
from heaplab.programs.prepared_input import CheckedExecution, PreparedInput, PreparedProgram, PreparedServer
