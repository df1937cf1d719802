"""What must hold, told apart from the machines: checkers know what was asked and answered, and the log's records."""
