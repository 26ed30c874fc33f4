"""Facts and load of this machine, the processes of a run, and the library that serves their malloc."""
