import assert from "node:assert/strict";
import { test } from "node:test";
import { Dialogs, HostTools, type Asked, type Run } from "../src/asks.js";
import type { Tables } from "../src/tables.js";
import { deferred } from "../src/wait.js";
import { scripted } from "./support/servers.js";

const QUESTION = { type: "extension_ui_request", id: "d1", method: "confirm", title: "Sure?", message: "It is." } as const;

/** Longer than anything takes that works, in milliseconds. */
const timeout = 240_000;

/** Dialogs with that callback, and what they send and complain of. */
function dialogs(zeroTimeoutExpires: boolean, confirm: (request: never, asked: Asked) => unknown) {
  const [sent, warnings]: [object[], string[]] = [[], []];
  const tables = { dialogs: { confirm: "confirmed" }, zeroTimeoutExpires } as Partial<Tables> as Tables;
  const dialogs = new Dialogs(tables, (answer) => (JSON.stringify(answer), sent.push(answer)), (it) => warnings.push(it));
  dialogs.handlers = { confirm };
  return { dialogs, sent, warnings };
}

for (const [limit, zeroTimeoutExpires, ms] of [
  [0, true, 0],
  [0, false, undefined],
  [3000, false, 3000],
  [3_000_000_000, false, 2 ** 31 - 1],
  [undefined, true, undefined],
] as const) {
  const when = ms === undefined ? "as long as it takes" : `${ms} ms`;
  const dialect = zeroTimeoutExpires ? "ends it" : "never ends it";
  test(`a dialog with the timeout ${limit}, where 0 ${dialect}, is waited for ${when}; a late answer is sent`, async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const late = deferred<boolean>();
    const signals: AbortSignal[] = [];
    const confirm = (_: never, { signal }: Asked) => (signals.push(signal), late.promise);
    const { dialogs: open, sent } = dialogs(zeroTimeoutExpires, confirm);
    const isOver = (): boolean | undefined => signals[0]?.aborted;
    const asked = open.ask(limit === undefined ? QUESTION : { ...QUESTION, timeout: limit });
    if (ms !== undefined && ms > 0) t.mock.timers.tick(ms - 1);
    assert.equal(isOver(), false);
    t.mock.timers.tick(1);
    assert.equal(isOver(), ms !== undefined);
    late.resolve(true);
    await asked;
    assert.deepEqual(sent, [{ type: "extension_ui_response", id: "d1", confirmed: true }]);
  });
}

test("a dialog whose callback fails, or answers what is no JSON, is cancelled", async () => {
  const failing = dialogs(false, () => Promise.reject(new Error("no")));
  const strange = dialogs(false, () => 1n);
  for (const { dialogs, sent, warnings } of [failing, strange]) {
    await dialogs.ask(QUESTION);
    assert.deepEqual(sent, [{ type: "extension_ui_response", id: "d1", cancelled: true }]);
    assert.equal(warnings.length, 1);
  }
});

const CIRCLE: { content: []; details?: unknown } = { content: [] };
CIRCLE.details = CIRCLE;
const said = (text: string) => ({ content: [{ type: "text", text }] });
const NEITHER = { result: said("the tool returned neither a text nor an object with content"), isError: true };

for (const [what, run, expected] of [
  ["a text", () => "three", { result: said("three") }],
  ["a result", async () => ({ content: [], details: 3 }), { result: { content: [], details: 3 } }],
  ["nothing", () => {}, { result: { content: [] } }],
  ["null", () => null, { result: { content: [] } }],
  ["a number", () => 3, NEITHER],
  ["an object without content", () => ({ text: "three" }), NEITHER],
  ["an object with a text as its content", () => ({ content: "three" }), NEITHER],
] as [string, Run, object][]) {
  test(`a host tool that returns ${what} is answered`, async () => {
    assert.deepEqual(await told(run), [{ type: "host_tool_result", id: "h1", ...expected }]);
  });
}

test("a host tool that returns what is no JSON has failed", async () => {
  const [result, ...more] = await told(() => CIRCLE as never);
  assert.equal((result as { isError?: boolean }).isError, true);
  assert.deepEqual(more, []);
});

/** What the server is told of a call that is carried out so. */
async function told(run: Run): Promise<object[]> {
  const sent: object[] = [];
  const tools = new HostTools((frame) => sent.push(JSON.parse(JSON.stringify(frame)) as object));
  tools.tools = new Map([["it", run]]);
  await tools.call({ type: "host_tool_call", id: "h1", toolName: "it", toolCallId: "t1", arguments: {} });
  return sent;
}

test("a dialog that comes before the server takes commands is answered, and the first subscription has it", { timeout }, async (t) => {
  const client = await scripted(
    t,
    `say(${JSON.stringify(QUESTION)}); heard = (frame) => say({ type: "turn_start", heard: frame });`,
    { onDialog: { confirm: ({ message }) => message === "It is." } },
  );
  const events = client.events();
  assert.deepEqual((await events.next()).value, QUESTION);
  const heard = { type: "extension_ui_response", id: "d1", confirmed: true };
  assert.deepEqual((await events.next()).value, { type: "turn_start", heard });
});
