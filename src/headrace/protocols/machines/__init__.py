"""The machines of the designs: who holds a queue, who looks for an item, and what they say to each other.

Sans-I/O: a machine is told what arrived and what time it is, and appends what should be done to `Orders`. Queues are
those of the common node; every decision is a function of `protocols/designs`, which the lab's kernels compile.
"""
