"""The event store: the only writer of event state."""
