"""The data pipeline: `plan` says what, in frozen values and without Spark; `engine` does it on Spark."""
