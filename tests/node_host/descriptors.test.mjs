/** The protocol's descriptors, when they are pipes as the server has them, and what extensions can do to them. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { NODE_OPTIONS } from "./loading.mjs";
import { test } from "node:test";

const MAIN = new URL("../../crates/extension/src/node/main.mjs", import.meta.url).pathname;
const MEDDLING = `
  import { spawnSync } from "node:child_process";
  import { writeSync } from "node:fs";
  export default function (pi) {
    spawnSync("sh", ["-c", "echo noise; cat"], { stdio: "inherit" });
    writeSync(1, "more noise\\n");
    process.stdin.on("data", () => {});
    pi.on("input", () => ({ action: "handled" }));
  }`;

test("what extensions and their programs read and write is not the protocol's", { timeout: 30000 }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "node-host-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "meddling.mjs");
  writeFileSync(path, MEDDLING);
  const hello = { type: "hello", protocol: 1, dialect: "pi-1", cwd: folder, agentDirectory: folder, maxFrame: 1 << 20 };
  const hook = { type: "hook", id: "r", hook: { type: "input", text: "a", source: "rpc" } };
  const frames = [{ ...hello, api: "1.5", version: "0", arguments: [], members: [{ path }] }, hook];

  // Programs on both sides make pipes of what are sockets when Node.js starts a program.
  const host = spawn("sh", ["-c", 'cat | "$0" "$@" | cat', process.execPath, ...NODE_OPTIONS, MAIN], { stdio: ["pipe", "pipe", "ignore"] });
  for (const frame of frames) host.stdin.write(`${JSON.stringify(frame)}\n`);
  const said = [];
  for await (const line of createInterface({ input: host.stdout })) {
    said.push(JSON.parse(line));
    // The host has to notice that, or this never ends.
    if (said.at(-1).type === "done") host.stdin.end();
  }
  assert.deepEqual(said.map(({ type }) => type), ["register", "done"]);
  assert.deepEqual(said[1].result, { action: "handled" });
});
