"""The real drivers of the ports: this machine's clock and disk."""
