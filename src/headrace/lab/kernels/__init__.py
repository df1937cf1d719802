"""Compiled simulations, one module each, for sweeps at the scale of the papers.

A kernel module offers `PARAMETERS`, `check(parameters)` and `measure(parameters, seed)`, which is
deterministic in both. Its docstring's first line is what `headrace simulate --help` says of it. Modules are
named here and imported when used, since numba takes a while to load. A kernel may also offer `combine(measured)`,
one measurement from those of several seeds, and `write_series(parameters, seed, directory)`.
"""

KERNELS: dict[str, str] = {
    "stochastic": "headrace.lab.kernels.stochastic",
    "networked": "headrace.lab.kernels.networked",
    "relaxed": "headrace.lab.kernels.relaxed",
}
