/** Handlers that never end, and extensions that are being made anew: what comes behind them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { started } from "./server.mjs";

const HANGING = (pi) => {
  pi.on("agent_start", () => new Promise(() => {}));
  pi.on("turn_start", () => void pi.appendEntry("heard"));
};

test("a handler that hangs keeps no later event back once the server has given it up", async (t) => {
  const server = await started({ test: t, extensions: [HANGING] });
  server.tell({ type: "hook", id: "h", hook: { type: "event", event: { type: "agent_start" } } });
  const later = server.hook({ type: "event", event: { type: "turn_start" } });
  server.tell({ type: "cancel", id: "h" });
  assert.equal(await later, undefined);
  assert.deepEqual(server.of("append_entry").map(({ customType }) => customType), ["heard"]);
});

test("a handler of a shown event that hangs keeps no later event back for more than 30 s", async (t) => {
  // The host lives with the extension: its 30 s pass at once.
  const hurried = `
    const timeout = globalThis.setTimeout;
    globalThis.setTimeout = (run, time, ...more) => timeout(run, time === 30000 ? 0 : time, ...more);
    export default (pi) => {
      pi.on("tool_execution_update", () => new Promise(() => {}));
      pi.on("turn_start", () => void pi.appendEntry("heard"));
    };`;
  const server = await started({ test: t, extensions: [hurried] });
  server.tell({ type: "event", event: { type: "tool_execution_update" } });
  await server.hook({ type: "event", event: { type: "turn_start" } });
  assert.deepEqual(server.of("append_entry").map(({ customType }) => customType), ["heard"]);
});

test("what comes while another session begins goes to the extensions of that session", async (t) => {
  const counting = `
    globalThis.made ??= 0;
    export default (pi) => {
      const mine = ++globalThis.made;
      pi.on("input", () => ({ action: "transform", text: "generation " + mine }));
    };`;
  const server = await started({ test: t, api: "1.5", extensions: [counting] });
  await server.hook({ type: "session_shutdown", reason: "new" });
  const meanwhile = server.hook({ type: "input", text: "a", source: "rpc" });
  await server.hook({ type: "session_start", reason: "new" });
  assert.deepEqual(await meanwhile, { action: "transform", text: "generation 2" });
  assert.deepEqual(server.of("error"), []);
});
