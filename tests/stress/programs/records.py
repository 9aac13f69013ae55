"""Each thread of each process appends its lines: records.py FILE LINES THREADS PROCESSES SYNC.

The lines are those of tests.stress.lines, made here once more. SYNC 1: each is synced.
"""

import os
import sys
import threading


def append(path: str, lines: int, sync: bool, process: int, thread: int) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    for number in range(lines):
        padding = chr(ord("a") + number % 26) * ((7 * number + 3 * thread + 5 * process) % 61)
        os.write(fd, f"{process}.{thread}:{number}:é{padding}\n".encode())
        if sync:
            (os.fsync if number % 2 else os.fdatasync)(fd)
    os.close(fd)


def work(path: str, lines: int, threads: int, sync: bool, process: int) -> None:
    runners = [
        threading.Thread(target=append, args=(path, lines, sync, process, thread))
        for thread in range(1, threads)
    ]
    for runner in runners:
        runner.start()
    append(path, lines, sync, process, 0)
    for runner in runners:
        runner.join()


def main() -> None:
    path, (lines, threads, processes, sync) = sys.argv[1], map(int, sys.argv[2:])
    children = []
    for process in range(1, processes):
        pid = os.fork()
        if pid == 0:
            work(path, lines, threads, bool(sync), process)
            os._exit(0)
        children.append(pid)
    work(path, lines, threads, bool(sync), 0)
    for pid in children:
        os.waitpid(pid, 0)


if __name__ == "__main__":
    main()
