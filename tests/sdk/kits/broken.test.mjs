// Tests that pass, but for what the client has sent.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { RpcError } from "pi-rpc-client";
import { Pi1Client } from "pi-rpc-client/pi-1";
import { scripted } from "pi-rpc-client/testing";

const SCRIPT = { turns: [] };

test("command lacks a member", async (t) => {
  const client = await scripted(t, SCRIPT).start(Pi1Client);
  await assert.rejects(client.request("set_session_name", {}), RpcError);
});

test("other client sends no frame", (t) => {
  const [program, ...args] = scripted(t, SCRIPT).command;
  const { stdout } = spawnSync(program, args, { input: "hello\n", encoding: "utf8" });
  assert.equal(JSON.parse(stdout).success, false);
});

test("server was not started", (t) => {
  scripted(t, SCRIPT);
});
