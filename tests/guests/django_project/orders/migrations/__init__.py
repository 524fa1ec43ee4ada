"""The tables of the orders."""
