"""From a workload and targets to a design and its parameters: searched by models, confirmed by simulation.

First form: the four designs of T. Johnson (1995). `headrace plan` is its command; `docs/guides/planner.md` documents
the keys of a workload.
"""
