"""The imitated drivers of the ports, in virtual time, with every fault that the real ones have and a seed for each."""
