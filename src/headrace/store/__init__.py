"""The file log: frames in segments, snapshots, recovery, verify and repair, over the `Disk` port."""
