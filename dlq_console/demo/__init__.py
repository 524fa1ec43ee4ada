"""What a newcomer tries first: a simulated ERP with realistic faults, traffic for it, and sample handlers."""
