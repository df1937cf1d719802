"""Workers: functions that run from queues. The app and its tasks, their results, and the processes that run them."""
