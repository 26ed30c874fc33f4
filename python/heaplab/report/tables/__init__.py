"""The tables that the page and the terminal share."""
