"""The same results for programs: JSON, tables of rows, JUnit XML."""
