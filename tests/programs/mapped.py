"""Change $LOG through a shared mapping: no system call carries the bytes."""

import mmap
import os

fd = os.open(os.environ["LOG"], os.O_RDWR | os.O_CREAT, 0o644)
os.write(fd, b"by call\n")
with mmap.mmap(fd, 8) as mapping:
    mapping[:] = b"by map!\n"
