"""The output: an HTML page, a summary on the terminal, and the same results as plain data."""

import logging

# matplotlib warns if it cannot write its cache, for example under a read-only home; the figures are the same.
logging.getLogger("matplotlib").setLevel(logging.ERROR)
