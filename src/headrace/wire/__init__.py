"""Bytes and what they mean: the frames of the binary door, and the JSON of the other one."""
