// Tests of a client that keeps the rules.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Pi1Client } from "pi-rpc-client/pi-1";
import { hazards, replay, scripted } from "pi-rpc-client/testing";

const SCRIPT = { turns: [{ say: [{ text: "Hello" }] }] };

test("scripted server answers", async (t) => {
  const client = await scripted(t, SCRIPT).start(Pi1Client);
  assert.equal((await client.prompt("Hi")).text, "Hello");
});

test("server with hazards answers", async (t) => {
  const names = ["chunks", "early-events", "unknown-events", "dialogs"];
  const client = await Pi1Client.spawn({ command: hazards(t, SCRIPT, { hazards: names, seed: 7 }).command });
  assert.equal((await client.prompt("Hi")).text, "Hello");
  await client.close();
});

test("recording answers as it did", async (t) => {
  const recorded = scripted(t, SCRIPT);
  for (const server of [recorded, replay(t, recorded.recording, { options: ["--strict"] })]) {
    const client = await server.start(Pi1Client);
    assert.equal((await client.prompt("Hi")).text, "Hello");
    assert.equal((await client.close()).code, 0);
  }
});

test("server without judgement need not start", (t) => {
  scripted(t, SCRIPT, { judged: false });
});
