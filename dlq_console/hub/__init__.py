"""The door to the hub: handlers, enqueue, one event from claim to result, what people may do."""
