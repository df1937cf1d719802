"""One file a design: the pure decisions `place`, `find` and `forward`, and the law that goes with them.

Leaf functions over numbers and arrays, their random draws handed in, so that a live node calls them and a
compiled kernel jits the same source.
"""
