/** Commands and tools. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { started } from "./server.mjs";

const command = (name, args = "") => ({ type: "command", name, arguments: args });
const call = (toolName, args = {}) => ({ type: "tool_call", toolCallId: "t1", toolName, arguments: args });
const text = (it) => [{ type: "text", text: it }];

const TOOLS = (pi) => {
  const tool = (name, execute, more) =>
    pi.registerTool({ name, label: name, description: name, parameters: { type: "object" }, execute, ...more });
  tool("echo", async (id, params, signal, onUpdate, ctx) => {
    onUpdate({ content: [{ type: "text", text: "so far" }] });
    const seen = JSON.stringify([id, params, signal.aborted, ctx.cwd === process.cwd(), ctx.signal === signal]);
    return { content: [{ type: "text", text: seen }], details: { x: 1 } };
  });
  tool("fail", async () => {
    throw new Error("it broke");
  });
  tool("wait", (_id, _params, signal) => new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve({ content: [{ type: "text", text: "stopped" }] }));
  }));
  tool("hang", () => new Promise(() => {}));
  tool("says", async () => ({ content: [{ type: "text", text: "no" }], details: { at: 1 }, isError: true }));
  tool("untyped", async () => ({ details: 1 }));
  tool("prepared", async (_id, params) => ({ content: [{ type: "text", text: params.b }] }), {
    prepareArguments: ({ a }) => {
      if (a === undefined) throw new Error("no a");
      return a === "none" ? a : { b: a };
    },
  });
  tool("circular", async () => {
    const details = {};
    details.self = details;
    return { content: [], details };
  });
  tool("large", async () => ({ content: [{ type: "text", text: "x".repeat(5000) }] }));
  tool("nested", async (_id, _params, _signal, _update, ctx) => {
    const own = await ctx.executeTool("prepared", { a: "own" });
    const other = await ctx.executeTool("read", { path: "p" });
    return { content: [], details: [own, other] };
  });
};

/** Each row: what is called, and how it ends. */
const ENDS = [
  [call("fail"), { type: "tool_result", result: { content: text("it broke"), details: {} }, isError: true }],
  [
    call("says"),
    { type: "tool_result", result: { content: text("no"), details: { at: 1 }, isError: true }, isError: true },
  ],
  [call("untyped"), { type: "tool_result", result: { details: 1, content: [] } }],
  [call("prepared", { b: "b" }), { type: "tool_result", result: { content: text("b") } }],
  [call("unknown"), { type: "failed", error: "no extension registers the tool unknown" }],
];

for (const [frame, end] of ENDS) {
  test(`the tool ${frame.toolName} ends as it should`, async (t) => {
    const server = await started({ test: t, extensions: [TOOLS] });
    assert.deepEqual(await server.ask(frame), end);
  });
}

test("a tool's arguments are prepared when the server asks, not again when it runs", async (t) => {
  const server = await started({ test: t, extensions: [TOOLS] });
  assert.deepEqual(server.registered.hooks.filter((name) => name === "prepare_arguments"), ["prepare_arguments"]);
  const prepare = (toolName, input) => server.hook({ type: "prepare_arguments", toolCallId: "t1", toolName, input });
  assert.deepEqual(await prepare("prepared", { a: "b" }), { input: { b: "b" } });
  assert.equal(await prepare("echo", { a: "b" }), undefined);
  assert.deepEqual(await prepare("prepared", {}), { type: "failed", error: "no a" });
  assert.deepEqual(await prepare("prepared", { a: "none" }), {
    type: "failed",
    error: 'tool prepared: prepareArguments: expected an object, got "none"',
  });
});

test("before pi 0.64 no arguments are prepared", async (t) => {
  const server = await started({ test: t, extensions: [TOOLS], api: "0.58" });
  assert.ok(!server.registered.hooks.includes("prepare_arguments"));
});

test("a tool is given id, arguments, signal, a function for updates, and ctx", async (t) => {
  const server = await started({ test: t, extensions: [TOOLS] });
  assert.deepEqual(await server.ask(call("echo", { a: 1 })), {
    type: "tool_result",
    result: { content: text('["t1",{"a":1},false,true,true]'), details: { x: 1 } },
  });
  assert.deepEqual(server.of("tool_update").map(({ partialResult }) => partialResult), [{ content: text("so far") }]);
});

test("a tool hears that its call was cancelled, and one that does not listen is cut short", async (t) => {
  const server = await started({ test: t, extensions: [TOOLS] });
  const ends = [server.ask(call("wait")), server.ask(call("hang"))];
  server.tell({ type: "cancel", id: "r1" });
  server.tell({ type: "cancel", id: "r2" });
  assert.deepEqual(await Promise.all(ends), [
    { type: "tool_result", result: { content: text("stopped") } },
    { type: "failed", error: "the request was cancelled" },
  ]);
});

test("a result that cannot be said has failed: it refers to itself, or is too long", async (t) => {
  const server = await started({ test: t, extensions: [TOOLS], maxFrame: 4000 });
  const { type, error } = await server.ask(call("circular"));
  assert.equal(type, "failed");
  assert.match(error, /circular/);
  assert.match((await server.ask(call("large"))).error, /^tool_result: the frame has \d+ bytes, the limit is 4000$/);
});

test("a tool calls others: those of extensions here, those of the server there", async (t) => {
  const server = await started({
    test: t,
    extensions: [TOOLS],
    answers: { run_tool: ({ toolName }) => ({ data: { result: { content: [], details: toolName }, isError: false } }) },
  });
  const { result } = await server.ask(call("nested"));
  assert.deepEqual(result.details, [
    {
      toolCall: { type: "toolCall", id: "t1/1", name: "prepared", arguments: { a: "own" } },
      result: { content: text("own") },
      isError: false,
    },
    {
      toolCall: { type: "toolCall", id: "t1/2", name: "read", arguments: { path: "p" } },
      result: { content: [], details: "read" },
      isError: false,
    },
  ]);
});

const COMMANDS = (pi) => {
  pi.registerCommand("show", {
    handler: async (args, ctx) => {
      ctx.ui.notify(args);
      await null;
      ctx.ui.notify("later");
    },
  });
  pi.registerCommand("fail", {
    handler: () => {
      throw new Error("no");
    },
  });
  pi.registerCommand("two words", { handler: async () => {} });
};

test("what a command says before it waits comes before it counts as taken up", async (t) => {
  const server = await started({ test: t, extensions: [COMMANDS] });
  assert.deepEqual(await server.ask(command("show", "a b")), { type: "done" });
  const said = server.said.map(({ type, origin, request }) => [type, origin, request?.message]);
  assert.deepEqual(said, [
    ["ui", "r1", "a b"],
    ["accept", undefined, undefined],
    ["ui", "r1", "later"],
  ]);
});

test("a command that fails says why, and one that nobody could call is not offered", async (t) => {
  const server = await started({ test: t, extensions: [COMMANDS] });
  assert.deepEqual(server.registered.commands.map(({ name }) => name), ["show", "fail"]);
  assert.deepEqual(await server.ask(command("fail")), { type: "failed", error: "no" });
});

for (const [api, names] of [
  ["0.52", ["show", "fail"]],
  ["0.73", ["show:1", "fail:1", "show:2", "fail:2"]],
]) {
  test(`${api}: commands of the same name are ${names.length > 2 ? "numbered" : "those of the first"}`, async (t) => {
    const server = await started({ test: t, api, extensions: [COMMANDS, COMMANDS] });
    assert.deepEqual(server.registered.commands.map(({ name }) => name), names);
    const conflicts = server.of("error").map(({ event, error }) => [event, error]);
    const conflict = (name) => ["load", `Command "/${name}" conflicts with ${server.paths[0]}`];
    assert.deepEqual(conflicts, api === "0.52" ? ["show", "fail", "two words"].map(conflict) : []);
    assert.deepEqual(await server.ask(command(names.at(-1))), { type: "failed", error: "no" });
  });
}
