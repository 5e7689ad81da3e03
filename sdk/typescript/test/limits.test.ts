import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { test, type TestContext } from "node:test";
import { ClosedError, LaggingError, ProtocolError, TimeoutError } from "../src/index.js";
import { PiClient } from "../src/generated/pi.js";
import { assertGone, isOf, processes } from "./support/processes.js";
import { scripted } from "./support/servers.js";

/** A server that answers `abort` with a flood of events, and other commands behind them. */
const FLOOD = `
  const EVENT = JSON.stringify({ type: "turn_start", filling: "x".repeat(1000) }) + "\\n";
  let said = 0;
  const flood = () => {
    while (said < COUNT) {
      said += 1;
      if (!process.stdout.write(EVENT)) return process.stdout.once("drain", flood);
    }
    say({ type: "agent_end", messages: [] });
  };
  heard = (frame) => {
    if (frame.type === "abort") { answer(frame); flood(); }
    else (function done() { said < COUNT ? setImmediate(done) : answer(frame, { text: String(said) }); })();
  };
`;

/** Longer than anything takes that works, in milliseconds. */
const timeout = 240_000;

function flooding(t: TestContext, count: number): Promise<PiClient> {
  return scripted(t, `const COUNT = ${count};${FLOOD}`, { backlog: 100_000 });
}

test("a server waits for a reader that is slow, and nothing is lost", { timeout }, async (t) => {
  const client = await flooding(t, 20_000);
  const events = client.events();
  await client.abort();
  let count = 0;
  for await (const event of events) {
    if (event.type === "agent_end") break;
    count += 1;
    // Far fewer than all 20 megabytes: the backlog, and what one read brings.
    assert(events.backlog < 200_000, `${events.backlog} characters wait`);
    await turn();
  }
  assert.equal(count, 20_000);
});

test("calls are answered although nobody reads the events", { timeout }, async (t) => {
  const client = await flooding(t, 200);
  const events = client.events();
  await client.abort();
  while (events.backlog < 100_000) await turn();
  assert.deepEqual(await client.getLastAssistantText({ timeoutMs: timeout }), { text: "200" });
  for await (const event of events) {
    if (event.type === "agent_end") break;
    await client.getLastAssistantText({ timeoutMs: timeout });
  }
});

test("a subscription that is too far behind while a call waits ends with an error, and the call is answered", { timeout }, async (t) => {
  const client = await flooding(t, 5000);
  const events = client.events();
  await client.abort();
  const text = await client.getLastAssistantText({ timeoutMs: timeout });
  assert.deepEqual(text, { text: "5000" });
  await assert.rejects(events.next(), LaggingError);
  assert.deepEqual(await events.next(), { done: true, value: undefined });
});

test("a prompt is over although nobody reads the events meanwhile", { timeout }, async (t) => {
  const client = await scripted(
    t,
    `const COUNT = 300;${FLOOD} heard = (frame) => { answer(frame); say({ type: "agent_start" }); flood(); };`,
    { backlog: 100_000 },
  );
  const events = client.events();
  await client.prompt("Go", { timeoutMs: timeout });
  await client.sendPrompt({ message: "Go on" }, { timeoutMs: timeout });
  await client.waitForIdle({ timeoutMs: timeout });
  let count = 0;
  for await (const { type } of events) {
    if (type === "turn_start") count += 1;
    if (type === "agent_end") break;
  }
  assert.equal(count, 300);
});

test("what comes while the client closes can all be read", { timeout }, async (t) => {
  const client = await flooding(t, 5000);
  const events = client.events();
  await client.abort();
  await client.close();
  let count = 0;
  for await (const { type } of events) if (type === "turn_start") count += 1;
  assert.equal(count, 5000);
});

for (const [when, backlog, isKept] of [
  ["has what came before", 1000, true],
  ["has nothing that came before if that was more than may be behind", 20, false],
] as const) {
  test(`the first subscription ${when}`, { timeout }, async (t) => {
    const code = `say({ type: "agent_start" }); heard = (frame) => { say({ type: "turn_start" }); answer(frame); };`;
    const client = await scripted(t, code, { backlog });
    const first = client.events();
    await client.abort();
    const second = client.events();
    await client.abort();
    const types = [isKept ? ["agent_start"] : [], "turn_start", "turn_start"].flat();
    for (const type of types) assert.deepEqual((await first.next()).value, { type });
    assert.deepEqual((await second.next()).value, { type: "turn_start" });
  });
}

test("the first subscription that is made after a command has nothing that came before", { timeout }, async (t) => {
  const code = `say({ type: "agent_start" }); heard = (frame) => { answer(frame); say({ type: "turn_start" }); };`;
  const client = await scripted(t, code);
  const aborted = client.abort();
  const events = client.events();
  await aborted;
  assert.deepEqual((await events.next()).value, { type: "turn_start" });
});

test("a subscription that is left holds nothing up", { timeout }, async (t) => {
  const client = await flooding(t, 20_000);
  const [left, read] = [client.events(), client.events()];
  await client.abort();
  await left.return();
  let count = 0;
  for await (const event of read) {
    if (event.type === "agent_end") break;
    count += 1;
  }
  assert.equal(count, 20_000);
});

test("a call that is not answered in time fails, and an answer that comes later is no event", { timeout }, async (t) => {
  const client = await scripted(t, `
    const late = [];
    heard = (frame) => {
      if (frame.type === "bash") late.push(frame);
      else { late.forEach((frame) => answer(frame, { output: "late" })); answer(frame); say({ type: "turn_start" }); }
    };
  `);
  const events = client.events();
  await assert.rejects(client.bash({ command: "true" }, { timeoutMs: 50 }), TimeoutError);
  await client.abortBash();
  assert.deepEqual((await events.next()).value, { type: "turn_start" });
});

test("a signal ends the waiting for a call, with its reason", { timeout }, async (t) => {
  const client = await scripted(t, "");
  const control = new AbortController();
  const call = client.bash({ command: "true" }, { signal: control.signal });
  control.abort(new Error("enough"));
  await assert.rejects(call, { message: "enough" });
  await assert.rejects(client.getState({ signal: control.signal }), { message: "enough" });
});

test("a signal ends the waiting for a prompt and aborts its run", { timeout }, async (t) => {
  const client = await scripted(t, `
    heard = (frame) => {
      if (frame.type === "prompt") { answer(frame); say({ type: "agent_start" }); }
      if (frame.type === "abort") { say({ type: "agent_end", messages: [] }); answer(frame); }
    };
  `);
  const control = new AbortController();
  const events = client.events();
  const prompt = client.prompt("Go", { signal: control.signal });
  assert.deepEqual((await events.next()).value, { type: "agent_start" });
  control.abort(new Error("enough"));
  await assert.rejects(prompt, { message: "enough" });
  assert.equal((await events.next()).value?.type, "agent_end");
  await client.waitForIdle();
});

test("what is no frame is told and passed over, and a line that is too long ends the server", { timeout }, async (t) => {
  const warnings: string[] = [];
  const client = await scripted(
    t,
    `heard = (frame) => {
      if (frame.type === "abort") { process.stdout.write("Hello!\\n\\n[1]\\n"); answer(frame); }
      else say({ type: "turn_start", filling: "x".repeat(2000) });
    };`,
    { longestLine: 1000, onWarning: (_, cause) => warnings.push(String(cause)) },
  );
  await client.abort();
  assert.deepEqual(warnings, ["Hello!", "[1]"]);
  await assert.rejects(client.bash({ command: "true" }), ProtocolError);
  assert.equal((await client.exited).signal, "SIGKILL");
});

test("a server that does not end by itself is made to, with everything that it started", { timeout }, async (t) => {
  const client = await scripted(t, `
    process.on("SIGTERM", () => {});
    setInterval(() => {}, 1000);
    require("node:child_process").spawn("sleep", ["1000"], { stdio: "inherit" });
    heard = answer;
  `);
  await client.abort();
  const { pid } = client;
  assert(pid !== undefined);
  assert.equal(processes((one) => isOf(pid, one)).length, 2);
  const exit = await client.close({ graceMs: 100 });
  assert.deepEqual([exit.code, exit.signal], [null, "SIGKILL"]);
  await assertGone(pid);
});

test("what a server leaves behind when it ends is ended, too", { timeout }, async (t) => {
  const client = await scripted(t, `
    require("node:child_process").spawn("sleep", ["1000"], { stdio: "inherit" });
    heard = () => process.exit(3);
  `);
  const { pid } = client;
  assert(pid !== undefined);
  await assert.rejects(client.abort(), ClosedError);
  assert.equal((await client.exited).code, 3);
  assert.deepEqual(await client.events().next(), { done: true, value: undefined });
  await assertGone(pid);
});

for (const [what, code] of [
  ["can say nothing more", `heard = () => require("node:fs").closeSync(1);`],
  ["hears nothing more", `heard = (frame) => { require("node:fs").closeSync(0); answer(frame); };`],
] as const) {
  test(`a server that lives and ${what} is ended, and its calls fail`, { timeout }, async (t) => {
    const client = await scripted(t, `setInterval(() => {}, 1000); ${code}`);
    const { pid } = client;
    assert(pid !== undefined);
    const calls = async (): Promise<void> => {
      await client.abort();
      await client.prompt("Go");
    };
    await assert.rejects(calls(), ClosedError);
    assert.equal((await client.exited).signal, "SIGTERM");
    await assertGone(pid);
  });
}

test("a client that goes out of use ends its server", { timeout }, async (t) => {
  let pid = 0;
  {
    await using client = await scripted(t, "");
    pid = client.pid ?? 0;
    assert.equal(processes((one) => isOf(pid, one)).length, 1);
  }
  await assertGone(pid);
});

test("a server that ends at once, or is not there, says why", { timeout }, async (t) => {
  const dies = scripted(t, `console.error("no model\\nno key"); process.exit(1);`);
  await assert.rejects(dies, { name: "ClosedError", message: /the server has ended \(status 1\):\nno model\nno key/ });
  const missing = PiClient.spawn({ command: ["/nowhere/pi-rpc"] });
  await assert.rejects(missing, { name: "ClosedError", message: /could not be started.*\n.*ENOENT/ });
});

test("a server that says nothing is not waited for longer than that", { timeout }, async () => {
  const silent = PiClient.spawn({ command: ["sleep", "1000"], readyTimeoutMs: 100 });
  await assert.rejects(silent, TimeoutError);
});
