module heaplab/acdc

go 1.22
