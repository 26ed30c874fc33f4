"""What there is to measure: specifications and their files, where a library lies, how to obtain it."""
