"""The catalog: TOML files as checked values, finding an allocator's library on the machine, obtaining one."""
