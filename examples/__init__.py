"""Programs to read and to run: `python -m examples.five_layers`, from the folder of the project."""
