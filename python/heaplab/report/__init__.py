"""What people read: one HTML page, a summary on the terminal, and the same as plain data.

write_html(analyses, path)        the page, self-contained
print_summary(analysis, console)  verdict lines and a table
as_plain(analysis)                for --json
"""

from heaplab.report.page import render, write_html
from heaplab.report.terminal import as_plain, print_claims, print_summary

__all__ = ["as_plain", "print_claims", "print_summary", "render", "write_html"]
