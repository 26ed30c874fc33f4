"""What is to be measured: the allocators, programs, servers, traces and suites that the options name."""
