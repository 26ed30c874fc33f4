"""What people read: one HTML page, a summary on the terminal, and the same as plain data.

write_html(analyses, path)        the page, self-contained
print_summary(analysis, console)  verdict lines and a table
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
        "heaplab.report.terminal": ["as_plain", "print_claims", "print_summary"],
    },
)
