"""Real programs as workloads: their input, their surroundings, and whether what they wrote is right."""

from heaplab.programs.inputs import INPUTS
from heaplab.programs.job import Job, JobResult

__all__ = ["INPUTS", "Job", "JobResult"]
