"""Values as text for people: numbers with their units, tables of Markdown."""
