"""Traces of a program's allocation calls (docs/trace-format.md): how they are recorded, what they hold.

of_process(trace, summary, number)    what a process did with memory
write_parquet, write_dhat, write_pprof   the same for other programs
"""

from typing import TYPE_CHECKING

from heaplab.lazy import door

if TYPE_CHECKING:
    from heaplab.traces.columns import write_parquet as write_parquet
    from heaplab.traces.dhat import write_dhat as write_dhat
    from heaplab.traces.pprof import write_pprof as write_pprof
    from heaplab.traces.profile import Profile as Profile, busiest as busiest, of_process as of_process
else:
    __getattr__ = door(__name__)
