"""What looks around and may act: at brokers, at the state of the installation, at what people should be told.

What is found out is returned to a step of the workers or to a command, which keeps or shows it; pages only read it.
"""
