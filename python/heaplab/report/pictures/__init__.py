"""Figures drawn with matplotlib, as SVG for the page."""
