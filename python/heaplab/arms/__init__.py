"""The arms of a comparison: what the options of a command name, as it was found on this machine."""
