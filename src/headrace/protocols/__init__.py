"""Decisions as sans-I/O machines: events in, effects out. No clock, no I/O, no randomness of their own."""
