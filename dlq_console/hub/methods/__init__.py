"""What a hub can do, a class per subject; `hub/core.py` puts them together."""
