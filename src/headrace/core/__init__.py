"""What crosses a socket or a disk, and the ports through which the outside is reached."""
