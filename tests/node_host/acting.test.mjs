/** What extensions do, as the server is told of it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { started } from "./server.mjs";

const MODEL = { provider: "p", id: "m" };
const refused = () => ({ success: false, error: "no" });

/** Each row: an expression; the actions that the server is told of, without ids; what it gives. */
const TABLE = [
  [
    `pi.sendMessage({ customType: "c", content: "x", display: true }, { triggerTurn: true, deliverAs: "followUp" })`,
    { type: "send_message", message: { customType: "c", content: "x", display: true }, deliverAs: "followUp", triggerTurn: true },
  ],
  [`pi.sendUserMessage("x", { deliverAs: "steer" })`, { type: "send_user_message", content: "x", deliverAs: "steer" }],
  [`pi.appendEntry("c", { a: 1 })`, { type: "append_entry", customType: "c", data: { a: 1 } }],
  [`pi.setSessionName("N")`, { type: "set_session_name", name: "N" }],
  [`pi.setLabel("e", "L")`, { type: "set_label", entryId: "e", label: "L" }],
  [`pi.setLabel("e", undefined)`, { type: "set_label", entryId: "e" }],
  [`pi.setActiveTools(["read"])`, { type: "set_active_tools", names: ["read"] }],
  [`pi.setThinkingLevel("high")`, { type: "set_thinking_level", level: "high" }],
  [`await pi.setModel({ provider: "p", id: "m" })`, { type: "set_model", provider: "p", modelId: "m" }, true],
  [`ctx.abort()`, { type: "abort" }],
  [`ctx.shutdown()`, { type: "shutdown" }],
  [`await ctx.waitForIdle()`, { type: "wait_for_idle" }],
  [
    `await new Promise((ok) => ctx.compact({ customInstructions: "I", onComplete: ok }))`,
    { type: "compact", customInstructions: "I" },
    { summary: "S" },
  ],
  [
    `await ctx.navigateTree("e", { summarize: true, label: "L" })`,
    { type: "navigate_tree", targetId: "e", summarize: true, label: "L" },
    { cancelled: true },
  ],
  [
    `(await ctx.modelRegistry.complete({ provider: "p", id: "m" }, { systemPrompt: "S", messages: [] }, { maxTokens: 3 }))`,
    { type: "complete", provider: "p", modelId: "m", systemPrompt: "S", messages: [], tools: [], maxTokens: 3 },
    { role: "assistant", content: [], stopReason: "stop" },
  ],
];

const ANSWERS = {
  models: { models: [{ model: MODEL, usable: true }] },
  entries: { header: { id: "s" }, entries: [{ type: "custom", id: "e", parentId: null }], leafId: "e" },
  send_message: () => ({}),
  send_user_message: () => ({}),
  set_model: () => ({}),
  wait_for_idle: () => ({}),
  compact: () => ({ data: { summary: "S" } }),
  navigate_tree: () => ({ data: { cancelled: true, editorText: "x" } }),
  complete: () => ({ data: { message: { role: "assistant", content: [], stopReason: "stop" } } }),
};

for (const [expression, action, value] of TABLE) {
  test(expression, async (t) => {
    const extension = `export default function (pi) {
      pi.registerCommand("act", {
        handler: async (_, ctx) => {
          const value = ${expression};
          if (value !== undefined) ctx.ui.notify(JSON.stringify(value));
        },
      });
    }`;
    const server = await started({ test: t, extensions: [extension], answers: ANSWERS });
    assert.deepEqual(await server.ask({ type: "command", name: "act", arguments: "" }), { type: "done" });
    const [{ id, origin, ...told }] = server.of(action.type);
    assert.deepEqual(told, action);
    assert.equal(origin, "r1");
    const given = server.of("ui").map(({ request }) => JSON.parse(request.message));
    assert.deepEqual(given, value === undefined ? [] : [value]);
  });
}

test("a message that is refused is an error of the runtime, an entry that is not there one of the caller", async (t) => {
  const server = await started({
    test: t,
    extensions: [
      (pi) => {
        pi.registerCommand("say", { handler: async () => pi.sendUserMessage("x") });
        pi.registerCommand("label", { handler: async () => pi.setLabel("?", "L") });
      },
    ],
    answers: { ...ANSWERS, send_user_message: refused },
  });
  await server.ask({ type: "command", name: "say", arguments: "" });
  const error = await server.hear("error");
  assert.deepEqual(error, { type: "error", extensionPath: "<runtime>", event: "send_user_message", error: "no" });
  const end = await server.ask({ type: "command", name: "label", arguments: "" });
  assert.deepEqual(end, { type: "failed", error: "Entry ? not found" });
});

test("a compaction that fails is told to whoever asked for it", async (t) => {
  const server = await started({
    test: t,
    extensions: [
      (pi) =>
        pi.registerCommand("compact", {
          handler: async (_, ctx) => {
            const error = await new Promise((onError) => ctx.compact({ onError }));
            throw error;
          },
        }),
    ],
    answers: { compact: refused },
  });
  const end = await server.ask({ type: "command", name: "compact", arguments: "" });
  assert.deepEqual(end, { type: "failed", error: "no" });
});

test("nothing can be done or asked while extensions are loaded, and whose loading fails is told", async (t) => {
  const server = await started({
    test: t,
    extensions: [(pi) => pi.appendEntry("c"), (pi) => void pi.getActiveTools(), "export default 1;", "export default ("],
  });
  const errors = server.of("error");
  assert.deepEqual(errors.map(({ extensionPath, event }) => [extensionPath, event]), server.paths.map((path) => [path, "load"]));
  const [first, second, third] = errors.map(({ error }) => error);
  assert.match(first, /^Failed to load extension: Extension runtime not initialized/);
  assert.equal(second, first);
  assert.equal(third, `Extension does not export a valid factory function: ${server.paths[2]}`);
});

test("flags are read from the command line in three forms, and have their defaults", async (t) => {
  const server = await started({
    test: t,
    words: ["--mode", "rpc", "--loud", "--name", "A", "--size=a=b", "--", "--late"],
    extensions: [
      (pi) => {
        for (const name of ["loud", "late"]) pi.registerFlag(name, { type: "boolean", default: false });
        for (const name of ["name", "size", "none"]) pi.registerFlag(name, { type: "string", default: "d" });
        pi.on("session_start", () => {
          const all = ["loud", "late", "name", "size", "none", "mode"].map((name) => pi.getFlag(name) ?? null);
          pi.appendEntry("flags", all);
        });
      },
    ],
  });
  await server.hook({ type: "session_start", reason: "startup" });
  assert.deepEqual(server.of("append_entry")[0].data, [true, false, "A", "a=b", "d", null]);
});

test("a tool that is registered later is told of before anything else is said", async (t) => {
  const server = await started({
    test: t,
    extensions: [
      (pi) =>
        pi.on("session_start", () => {
          pi.registerTool({ name: "late", label: "L", description: "D", parameters: {}, execute: async () => ({}) });
          pi.registerTool({ name: "later", label: "L", description: "D", parameters: {}, execute: async () => ({}) });
          pi.setActiveTools(["late"]);
        }),
    ],
  });
  await server.hook({ type: "session_start", reason: "startup" });
  assert.deepEqual(server.said.map(({ type, tools }) => [type, tools?.length]), [["register", 2], ["set_active_tools", undefined]]);
});

test("extensions talk to each other, and programs are run", async (t) => {
  const server = await started({
    test: t,
    extensions: [
      (pi) => {
        pi.events.on("say", () => {
          throw new Error("deaf");
        });
        pi.events.on("say", (it) => pi.appendEntry("heard", it));
        pi.registerCommand("run", {
          handler: async () => {
            pi.events.emit("say", 1);
            const result = await pi.exec("sh", ["-c", "echo out; echo err >&2; exit 3"]);
            pi.appendEntry("ran", result);
            pi.appendEntry("ran", (await pi.exec("sleep", ["60"], { timeout: 10 })).killed);
            pi.appendEntry("ran", (await pi.exec("no-such-program", [])).code);
            pi.appendEntry("ran", (await pi.exec("sh", ["-c", "kill -9 $$"])).code);
            pi.appendEntry("ran", (await pi.exec("yes", [], { maxBuffer: 4 })).stdout);
          },
        });
      },
    ],
  });
  await server.ask({ type: "command", name: "run", arguments: "" });
  const kept = server.of("append_entry").map(({ data }) => data);
  const ran = { stdout: "out\n", stderr: "err\n", code: 3, killed: false, truncated: false };
  assert.deepEqual(kept, [1, ran, true, 1, 137, "y\ny\n"]);
  assert.deepEqual(server.of("error").map(({ event, error }) => [event, error]), [["events:say", "deaf"]]);
});
