"""The handles that programs hold: façades over a node, with the same verbs for threads and for asyncio."""
