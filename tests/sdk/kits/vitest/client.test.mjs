// A test of a client that keeps the rules, and one that passes but for what the client has sent, by vitest.
import { expect, test } from "vitest";
import { RpcError } from "pi-rpc-client";
import { Pi1Client } from "pi-rpc-client/pi-1";
import { scripted } from "pi-rpc-client/testing";

test("scripted server answers", async (t) => {
  const client = await scripted(t, { turns: [{ say: [{ text: "Hello" }] }] }).start(Pi1Client);
  expect((await client.prompt("Hi")).text).toBe("Hello");
});

test("command lacks a member", async (t) => {
  const client = await scripted(t, { turns: [] }).start(Pi1Client);
  await expect(client.request("set_session_name", {})).rejects.toThrow(RpcError);
});
