"""This machine: its facts and load, processes on it, and which library really serves their malloc."""
