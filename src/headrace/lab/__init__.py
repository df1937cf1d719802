"""The lab: kernels that simulate, models that predict, and experiments that set the papers beside both."""
