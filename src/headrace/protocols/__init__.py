"""Decisions: sans-I/O machines that take events and give effects. No clock, no I/O, no randomness of their own."""
