"""Tell what a launched Python program can see of itself, then append lines to $LOG.

    python -m warm_target [ARGUMENT…]

`exit N` as arguments end it with that code, `raise` by an exception, `hang` never.
"""

import json
import os
import random
import signal
import subprocess
import sys
import threading


def facts() -> dict[str, object]:
    return {
        "argv": sys.argv[1:],
        "name": __name__,
        "file": os.path.basename(sys.argv[0]),
        "main": sys.modules["__main__"].__dict__ is globals(),
        "cwd": os.getcwd(),
        "path0": sys.path[0],
        "environment": dict(os.environ),
        "fds": sorted(set(map(int, os.listdir("/proc/self/fd"))) - {3}),  # 3 lists them
        "blocked": sorted(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, ()))),
        "dispositions": [str(signal.getsignal(n)) for n in (2, 13, 17, 25)],
        "leader": os.getsid(0) == os.getpid(),
        "threads": threading.active_count(),
        "stdin": sys.stdin.read(),
        "encoding": sys.stdout.encoding,
        "chaos": "chaos" in sys.modules,
        "child": subprocess.run(["sh", "-c", "exit 3"], check=False).returncode,
    }


print(json.dumps(facts()))
print(random.random(), file=sys.stderr)
with open(os.environ["LOG"], "ab", buffering=0) as log:
    log.writelines(b"line %d\n" % number for number in range(3))
match sys.argv[1:]:
    case ["exit", code]:
        sys.exit(int(code))
    case ["raise"]:
        raise ValueError("as asked")
    case ["hang"]:
        threading.Event().wait()
