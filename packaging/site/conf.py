# Sphinx's settings; packaging/site/build.py puts the pages together.

project = "heaplab"
copyright = "The heaplab authors, MIT licence"
extensions = ["myst_parser", "sphinx_copybutton"]
myst_heading_anchors = 5  # as GitHub makes them, so that a link to a heading works in both

html_theme = "furo"
html_title = "heaplab"
html_favicon = html_logo = "static/logo.svg"
html_static_path = ["static"]
html_css_files = ["style.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_show_search_summary = False  # fetched, which a browser refuses to a page from a file
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5d45", "color-brand-content": "#0b6b4f"},
    "dark_css_variables": {"color-brand-primary": "#5fd0a8", "color-brand-content": "#6fdcb4"},
    "top_of_page_buttons": [],
}
highlight_language = "none"  # of a block that names none
