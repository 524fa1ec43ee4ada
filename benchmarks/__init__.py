"""Does this machine reach the published figures? One module per figure, each a command of its own."""
