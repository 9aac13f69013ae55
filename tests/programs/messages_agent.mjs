// A small agent that keeps one JSON file a message, written by a worker thread: to a temporary
// file, which is then renamed. It goes on with what is unfinished before it says what it is told:
//
//     node messages_agent.mjs PROMPT
//
// $FAULT=in-place writes each message straight to its own file.
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import { isMainThread, parentPort, Worker } from "node:worker_threads";

const FOLDER = "messages";
const { FAULT, KEY, MODEL_URL } = process.env;

function store({ number, message }) {
  const path = `${FOLDER}/${String(number).padStart(4, "0")}.json`;
  const text = JSON.stringify(message);
  if (FAULT === "in-place") return fs.writeFileSync(path, text);
  const file = fs.openSync(`${path}.tmp`, "w");
  fs.writeSync(file, text);
  fs.fsyncSync(file);
  fs.closeSync(file);
  fs.renameSync(`${path}.tmp`, path);
}

function read() {
  fs.mkdirSync(FOLDER, { recursive: true });
  const names = fs.readdirSync(FOLDER).filter((name) => name.endsWith(".json"));
  return names.sort().map((name) => JSON.parse(fs.readFileSync(`${FOLDER}/${name}`, "utf8")));
}

async function ask(messages) {
  const parameters = { type: "object", properties: { command: { type: "string" } } };
  const tool = { name: "sh", description: "Run a command.", parameters };
  const sent = messages.map(({ begun, ...message }) => message);
  const answer = await fetch(`${MODEL_URL}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "any", messages: sent, tools: [{ type: "function", function: tool }] }),
  });
  if (!answer.ok) throw new Error(`the model says ${answer.status}: ${await answer.text()}`);
  return (await answer.json()).choices[0].message;
}

function runTool(call) {
  const { command } = JSON.parse(call.function.arguments);
  const done = spawnSync("sh", ["-c", command], { encoding: "utf8" });
  return `${done.stdout}${done.stderr}exit code ${done.status}`;
}

async function main(prompt) {
  const writer = new Worker(new URL(import.meta.url));
  const said = read();
  async function put(number, message) {
    said[number] = message;
    const stored = new Promise((resolve) => writer.once("message", resolve));
    writer.postMessage({ number, message });
    await stored;
  }
  const openCalls = () => {
    const known = new Set(said.map((message) => message.tool_call_id));
    return said.flatMap((m) => m.tool_calls ?? []).filter((call) => !known.has(call.id));
  };
  async function finishTools() {
    for (const call of openCalls()) {
      const number = said.findIndex((m) => m.tool_calls?.some((c) => c.id === call.id));
      const begun = said[number].begun ?? [];
      let content = "unknown: interrupted";
      if (!begun.includes(call.id)) {
        await put(number, { ...said[number], begun: [...begun, call.id] });
        content = runTool(call);
      }
      await put(said.length, { role: "tool", tool_call_id: call.id, content });
    }
  }
  await finishTools();
  if (said.at(-1)?.role !== "user" || said.at(-1).content !== prompt) {
    await put(said.length, { role: "user", content: prompt });
  }
  while (said.at(-1).role !== "assistant") {
    await put(said.length, await ask(said));
    await finishTools();
  }
  await writer.terminate();
}

if (isMainThread) await main(process.argv[2]);
else parentPort.on("message", (asked) => parentPort.postMessage(store(asked) ?? "stored"));
