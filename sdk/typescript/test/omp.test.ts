import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { Chunks } from "../src/chunks.js";
import { OmpClient, type Omp } from "../src/generated/omp.js";
import { ProtocolError, RpcError, type Options } from "../src/index.js";
import type { Frame } from "../src/tables.js";
import { PI_RPC } from "./support/clients.js";
import { offering } from "./support/servers.js";

const timeout = 120_000;
const LIMITS = { frame: 1048576, reassembled: 67108864 };
const LARGE = "é😀\u2028".repeat(150_000);

/** Chunks of a frame, each with `size` bytes of it. */
function chunksOf(text: string, size: number): Frame[] {
  const bytes = Buffer.from(text);
  const count = Math.ceil(bytes.length / size);
  const piece = (index: number): string => bytes.subarray(index * size, (index + 1) * size).toString("base64");
  return Array.from({ length: count }, (_, index) => {
    return { type: "rpc_chunk", chunkId: "rpc-1", index, count, byteLength: bytes.length, data: piece(index) };
  });
}

test("a frame is put together from its chunks", () => {
  const text = JSON.stringify({ type: "notice", message: LARGE });
  const chunks = new Chunks(LIMITS);
  const taken = chunksOf(text, 262_144).map((frame) => chunks.take(frame));
  assert.equal(taken.at(-1), text);
  assert(taken.slice(0, -1).every((taken) => taken === undefined));
  assert.equal(chunks.take({ type: "agent_start" }), null);
});

test("a broken series is refused with what was expected", () => {
  const [first, second, third] = chunksOf(JSON.stringify({ message: LARGE }), 262_144) as [Frame, Frame, Frame];
  const refused = (frames: readonly Frame[], message: RegExp): void => {
    const chunks = new Chunks(LIMITS);
    assert.throws(() => frames.forEach((frame) => chunks.take(frame)), { name: ProtocolError.name, message });
  };
  refused([second], /^expected chunk 0 of rpc-1, got chunk 1 of rpc-1$/);
  refused([first, third], /^expected chunk 1 of rpc-1, got chunk 2 of rpc-1$/);
  refused([first, { type: "agent_start" }], /^expected chunk 1 of rpc-1, got another frame$/);
  refused([first, { ...second, data: "é" }], /^expected chunk 1 of rpc-1, got data that is no base64$/);
  refused([{ ...first, byteLength: 10 }], /^byteLength: expected 1048576 to 67108864 bytes, got 10$/);
  refused([{ ...first, count: 257 }], /^count: expected 2 to 256 chunks, got 257$/);
});

/** A client of a real server, in a folder of its own. */
async function spawn(t: TestContext, options: Options<Omp>): Promise<OmpClient> {
  const folder = mkdtempSync(join(tmpdir(), "omp-"));
  writeFileSync(join(folder, "script.json"), JSON.stringify({ turns: [{ repeat: true, say: [{ text: "Read." }] }] }));
  const command = [PI_RPC, "serve", "--dialect", "omp", "--no-session", "--model", "scripted/script.json"];
  const client = await OmpClient.spawn({ ...options, command, cwd: folder, env: { PATH: process.env["PATH"], HOME: folder } });
  t.after(async () => {
    await client.close({ graceMs: 0 });
    rmSync(folder, { recursive: true, force: true });
  });
  await client.setAutoCompaction({ enabled: false });
  return client;
}

test("large frames come whole, and messages in pages", { timeout }, async (t) => {
  const client = await spawn(t, {});
  const run = await client.prompt(LARGE);
  assert.equal(run.text, "Read.");
  const { messages } = await client.getMessages();
  const read = [];
  for await (const message of client.readMessages({ pageSize: 1 })) read.push(message);
  assert.deepEqual(read, messages);
  assert.deepEqual(messages.slice(-2), run.messages.slice(-2));
});

test("without a second version a long response is an error", { timeout }, async (t) => {
  const client = await spawn(t, { protocolVersion: 1 });
  await client.prompt(LARGE);
  await assert.rejects(client.getMessages(), { name: RpcError.name, error: "RPC response exceeded the transport limit" });
});

test("an error has the code that the server names", { timeout }, async (t) => {
  const client = await offering(t, `heard = (frame) => fail(frame, { error: "Not now", code: "session_busy" });`);
  await assert.rejects(client.getMessagesPage(), { name: RpcError.name, error: "Not now", code: "session_busy" });
});

test("the command of an extension ends with its result, also in another run", { timeout }, async (t) => {
  const client = await offering(
    t,
    `heard = (frame) => {
      if (frame.type !== "prompt") return answer(frame);
      answer(frame);
      if (frame.message === "Go") return say({ type: "agent_start" });
      say({ type: "command_output", text: "half" });
      setTimeout(() => say({ type: "prompt_result", id: frame.id, agentInvoked: false }), 200);
    };`,
  );
  const events = client.events();
  assert.deepEqual(await client.prompt("/count"), { text: "", messages: [] });
  await client.sendPrompt({ message: "Go" });
  assert.deepEqual(await client.prompt({ message: "/count", streamingBehavior: "steer" }), { text: "", messages: [] });
  assert.equal(client.state, "streaming.between");
  await client.close();
  let results = 0;
  for await (const event of events) if (event.type === "prompt_result") results += 1;
  assert.equal(results, 2);
});

test("a built-in command ends with its response", { timeout }, async (t) => {
  const client = await offering(t, "heard = (frame) => answer(frame, { agentInvoked: false });");
  assert.deepEqual(await client.prompt("/usage"), { text: "", messages: [] });
  assert.equal(client.state, "idle");
});
