"""Append JSON lines to a file from threads and child processes, one write(2) a line.

    writer.py FILE LINES THREADS PROCESSES

Every thread of every process appends LINES lines; the lines of one writer are in order.
"""

import json
import os
import sys
import threading


def append(path: str, lines: int, writer: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    for number in range(lines):
        os.write(fd, json.dumps({"writer": writer, "number": number}).encode() + b"\n")
    os.close(fd)


def main() -> None:
    path, lines, threads, processes = sys.argv[1], *map(int, sys.argv[2:])
    children = []
    for process in range(1, processes):
        pid = os.fork()
        if pid == 0:
            work(path, lines, threads, process)
            os._exit(0)
        children.append(pid)
    work(path, lines, threads, 0)
    for pid in children:
        os.waitpid(pid, 0)


def work(path: str, lines: int, threads: int, process: int) -> None:
    runners = [
        threading.Thread(target=append, args=(path, lines, f"{process}.{thread}"))
        for thread in range(threads)
    ]
    for runner in runners:
        runner.start()
    for runner in runners:
        runner.join()


main()
