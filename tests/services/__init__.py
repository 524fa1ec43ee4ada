"""Where do the tests and benchmarks get real servers and processes? Each module starts one kind, privately."""
