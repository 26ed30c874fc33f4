"""What people read: one HTML page, a summary on the terminal, and the same as plain data.

write_html(analyses, path)        the page, self-contained
print_summary(analysis, console)  answer, how sure, what next, and a table
as_plain(analysis)                for --json
"""

import logging

from heaplab.lazy import door

# matplotlib warns where it can keep no cache, as under a home that cannot be written; the page is the same.
logging.getLogger("matplotlib").setLevel(logging.ERROR)

__getattr__ = door(
    __name__,
    {
        "heaplab.report.page": ["render", "write_html"],
        "heaplab.report.plain": ["as_plain"],
        "heaplab.report.terminal": ["print_claims", "print_summary"],
    },
)
