"""Which of the candidates under one allocator is to be chosen when, over all comparisons."""
