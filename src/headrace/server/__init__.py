"""The doors of a node: the binary one and REST, in one event loop."""
