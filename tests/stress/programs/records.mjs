// The lines of records.py from Node: node records.mjs FILE LINES THREADS PROCESSES SYNC.
//
// Threads are workers, processes are forks. One writer alone uses a stream that joins three lines
// in one writev.
import { fork } from "node:child_process";
import { closeSync, createWriteStream, fdatasyncSync, fsyncSync, openSync, writeSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { isMainThread, Worker, workerData } from "node:worker_threads";

const here = fileURLToPath(import.meta.url);
const [path, ...numbers] = process.argv.slice(2);
const [lines, threads, processes, synced] = numbers.map(Number);
const own = Number(process.env.RECORDS_PROCESS ?? 0);

function line(thread, number) {
  const letter = String.fromCharCode(97 + (number % 26));
  return `${own}.${thread}:${number}:é${letter.repeat((7 * number + 3 * thread + 5 * own) % 61)}\n`;
}

function append(thread) {
  const fd = openSync(path, "a");
  for (let number = 0; number < lines; number++) {
    writeSync(fd, line(thread, number));
    if (synced) (number % 2 ? fsyncSync : fdatasyncSync)(fd);
  }
  closeSync(fd);
}

async function stream() {
  const out = createWriteStream(path, { flags: "a" });
  for (let number = 0; number < lines; number += 3) {
    out.cork();
    out.write(line(0, number));
    out.write(line(0, number + 1));
    const done = new Promise((resolve) => out.write(line(0, number + 2), resolve));
    out.uncork();
    await done;
  }
  out.end();
}

if (!isMainThread) {
  append(workerData);
} else if (threads * processes === 1) {
  await stream();
} else {
  if (own === 0) {
    for (let number = 1; number < processes; number++) {
      fork(here, process.argv.slice(2), { env: { ...process.env, RECORDS_PROCESS: number } });
    }
  }
  for (let thread = 1; thread < threads; thread++) {
    new Worker(new URL(import.meta.url), { workerData: thread, argv: process.argv.slice(2) });
  }
  append(0);
}
