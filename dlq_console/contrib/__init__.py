"""One file for each framework; each imports its own framework only, and nothing in the house imports it."""
