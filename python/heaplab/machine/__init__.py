"""Facts and load of this machine, processes on it, and the library that really serves their malloc."""
