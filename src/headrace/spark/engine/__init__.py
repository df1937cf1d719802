"""Does what a plan says, on Spark: the only room that imports pyspark."""
