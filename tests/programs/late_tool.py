"""An agent with one tool that dies with it: both append to a log, the tool after a byte.

    late_tool.py FILE

The tool is told to go just before the agent's own write, so that both writes come at once. The
tool asks the kernel for SIGKILL at the agent's death.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1

fd = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
read_end, write_end = os.pipe()
ready_read, ready_write = os.pipe()
if os.fork() == 0:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    os.write(ready_write, b".")
    os.read(read_end, 1)
    os.write(fd, b"tool\n")
    os._exit(0)
os.read(ready_read, 1)
os.write(write_end, b".")
os.write(fd, b"agent\n")
os.wait()
