"""What people read of a trace: one HTML page, and the same on the terminal.

write_html(profile, warnings, path)   the page, self-contained
print_profile(profile, console)       figures and tables as text
"""

from typing import TYPE_CHECKING

from heaplab.lazy import door

if TYPE_CHECKING:
    from heaplab.trace_report.trace_page import write_html as write_html
    from heaplab.trace_report.trace_terminal import print_profile as print_profile
else:
    __getattr__ = door(__name__)
