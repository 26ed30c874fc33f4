"""What can be measured: TOML files as checked values, where a library lies, how to obtain one."""
