"""What to compute, in frozen values that need no Spark: experiments, their runs, tasks and results."""
