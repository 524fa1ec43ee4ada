"""What does a working day at the console look like? Stories in a real browser, with real processes behind it.

A package, so that one console and one worker serve all of its tests.
"""
