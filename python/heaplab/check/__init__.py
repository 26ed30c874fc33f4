"""`heaplab check`: conformance and torture for any malloc library. See docs/checking-an-allocator.md."""
