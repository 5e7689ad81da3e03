/** Extensions that are wrong: what is good of them goes on, and the server is told what is not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { started } from "./server.mjs";

const errors = (server) => server.of("error").map(({ extensionPath, event, error }) => [extensionPath, event, error]);

test("a provider that a factory registers is told before the extensions count as loaded", async (t) => {
  const server = await started({ test: t, extensions: [(pi) => pi.registerProvider("mine", { baseUrl: "http://x" })] });
  assert.deepEqual(server.of("register_provider").map(({ name }) => name), ["mine"]);
});

test("a provider that is none is an error of its extension, and the others are registered", async (t) => {
  const server = await started({
    test: t,
    extensions: [
      (pi) => {
        pi.registerProvider("x", undefined);
        pi.registerProvider("y", { baseUrl: "http://y" });
        pi.on("input", () => ({ action: "handled" }));
      },
    ],
  });
  const error = "registerProvider: expected the name of a provider and its configuration";
  assert.deepEqual(errors(server), [[server.paths[0], "load", error]]);
  assert.deepEqual(server.of("register_provider").map(({ name }) => name), ["y"]);
  assert.deepEqual(await server.hook({ type: "input", text: "a", source: "rpc" }), { action: "handled" });
});

test("what cannot be registered is left out, and the rest is", async (t) => {
  const server = await started({
    test: t,
    api: "0.73",
    extensions: [
      (pi) => {
        const circular = {};
        circular.self = circular;
        const execute = () => {};
        const schema = { type: "object" };
        pi.registerTool({ name: 5, parameters: schema, execute });
        pi.registerTool({ parameters: schema, execute });
        pi.registerTool({ name: "list", parameters: [], execute });
        pi.registerTool({ name: "text", parameters: "x", execute });
        pi.registerTool({ name: "circular", parameters: circular, execute });
        pi.registerTool({ name: "big", parameters: { a: 1n }, execute });
        pi.registerTool({ name: "good", label: 7, promptSnippet: 5, promptGuidelines: "be", parameters: schema, execute });
        pi.registerCommand("numbered", { description: 42, handler() {} });
        pi.registerCommand("bare", undefined);
        pi.registerCommand(undefined, { handler() {} });
        pi.registerFlag("flag", { description: 9, type: "string" });
        pi.registerFlag("plain", undefined);
        pi.registerShortcut(5, {});
      },
    ],
  });
  const [path] = server.paths;
  const { commands, tools, flags, shortcuts } = server.registered;
  const good = { name: "good", label: "7", description: "7", parameters: { type: "object" }, path };
  assert.deepEqual(tools, [{ ...good, promptSnippet: "5", promptGuidelines: ["be"] }]);
  assert.deepEqual(commands, [{ name: "numbered", description: "42", path }, { name: "bare", path }]);
  assert.deepEqual(flags, [
    { name: "flag", description: "9", path, takesValue: true },
    { name: "plain", path, takesValue: false },
  ]);
  assert.deepEqual(shortcuts, []);
  assert.deepEqual(
    errors(server).map(([, event, error]) => `${event} ${error}`.split("\n")[0].replace(/JSON: .*/, "JSON")),
    [
      "register name of a tool: expected a string that is not empty, got 5; the tool is skipped",
      "register name of a tool: expected a string that is not empty, got undefined; the tool is skipped",
      "register name of a command: expected a string that is not empty, got undefined; the command is skipped",
      "register name of a shortcut: expected a string that is not empty, got 5; the shortcut is skipped",
      "register tool list: parameters: expected an object, got array; the tool is skipped",
      "register tool text: parameters: expected an object, got string; the tool is skipped",
      "register tool circular: parameters cannot be written as JSON",
      "register tool big: parameters cannot be written as JSON",
    ],
  );
});

test("an error without a readable message ends nothing", async (t) => {
  const server = await started({
    test: t,
    extensions: [
      () =>
        void setTimeout(() => {
          throw { toString() { throw 1; } };
        }),
    ],
  });
  assert.equal((await server.hear("error")).error, "an error without a readable message");
});

test("a model that is asked while extensions are loaded says at once that it cannot be", async (t) => {
  const asking = `export default async function () {
    const bridge = globalThis[Symbol.for("pi-rpc.host")];
    await bridge.request({ type: "complete", provider: "p", modelId: "m", messages: [] });
  }`;
  const server = await started({ test: t, extensions: [asking] });
  const why = "actions are not available while extensions are loaded; call them in a handler";
  assert.deepEqual(errors(server), [[server.paths[0], "load", `Failed to load extension: ${why}`]]);
});

const block = (text) => ({ type: "text", text });

for (const [what, result, wanted] of [
  ["a text that is a number", { content: [{ type: "text", text: 5 }] }, { content: [block("5")] }],
  ["a text that is missing", { content: [{ type: "text" }] }, { content: [block("")] }],
  ["a block of no known type", { content: [{ type: "odd", a: 1 }] }, { content: [block('{"type":"odd","a":1}')] }],
  ["a text instead of blocks", { content: "plain" }, { content: [block("plain")] }],
]) {
  test(`a tool's result with ${what} becomes one that is valid`, async (t) => {
    const extension = `export default (pi) => pi.registerTool({ name: "t", parameters: {}, execute: async () => (${JSON.stringify(result)}) });`;
    const server = await started({ test: t, extensions: [extension] });
    const end = await server.ask({ type: "tool_call", toolCallId: "c", toolName: "t", arguments: {} });
    assert.deepEqual(end, { type: "tool_result", result: wanted });
  });
}

test("a tool's result that JSON cannot hold is a call that has failed", async (t) => {
  const extension = (pi) =>
    pi.registerTool({ name: "t", parameters: {}, execute: async () => ({ content: [], details: { big: 1n } }) });
  const server = await started({ test: t, extensions: [extension] });
  const end = await server.ask({ type: "tool_call", toolCallId: "c", toolName: "t", arguments: {} });
  assert.equal(end.type, "failed");
});

const user = { role: "user", content: "a", timestamp: 1 };
const message = (content) => ({ customType: "m", content, display: false });

for (const [hook, body, wanted, told] of [
  [
    { type: "tool_call", toolCallId: "c", toolName: "t", input: {} },
    "() => ({ block: true, reason: { a: 1 } })",
    { block: true, reason: '{"a":1}' },
    [],
  ],
  [
    { type: "tool_call", toolCallId: "c", toolName: "t", input: {} },
    "(event) => void (event.input = 'x')",
    undefined,
    ["tool_call: input: expected an object, got string"],
  ],
  [
    { type: "tool_result", toolCallId: "c", toolName: "t", input: {}, content: [], isError: false },
    "() => ({ content: 'x', isError: 1 })",
    { content: [block("x")], isError: true },
    [],
  ],
  [{ type: "context", messages: [user] }, "() => ({ messages: 'x' })", undefined, ["messages: expected an array, got string"]],
  [
    { type: "message_end", message: user },
    "() => ({ message: { role: 'user', content: 5 } })",
    { messages: [{ role: "user", content: "5", timestamp: 1 }] },
    [],
  ],
  [
    { type: "before_agent_start", prompt: "p", systemPrompt: "s" },
    "() => ({ message: { customType: 'm', content: 7 } })",
    { message: message("7") },
    [],
  ],
  [
    { type: "input", text: "a", source: "rpc" },
    "() => ({ action: 'transform', text: 5 })",
    { action: "transform", text: "5" },
    [],
  ],
  [
    { type: "input", text: "a", source: "rpc" },
    "() => ({ action: 'transform', text: {} })",
    undefined,
    ["input: text: expected a string, got object"],
  ],
]) {
  test(`${hook.type} is answered as well as can be: ${body}`, async (t) => {
    const server = await started({ test: t, extensions: [`export default (pi) => pi.on("${hook.type}", ${body});`] });
    assert.deepEqual(await server.hook(hook), wanted);
    assert.deepEqual(errors(server).map(([, , error]) => error), told);
  });
}

test("dialogs and notices are made of what was given, and actions that cannot be made fail", async (t) => {
  const server = await started({
    test: t,
    extensions: [
      (pi) =>
        pi.registerCommand("c", {
          handler: async (_, ctx) => {
            ctx.ui.notify(undefined);
            void ctx.ui.select("t", [1, 2]);
            void ctx.ui.confirm("only title");
            await ctx.fork(5);
            await ctx.fork({});
          },
        }),
    ],
    answers: { fork: () => ({ data: { cancelled: false } }) },
  });
  const end = await server.ask({ type: "command", name: "c", arguments: "" });
  assert.deepEqual(end, { type: "failed", error: "fork.entryId: expected a string, got object" });
  const said = server.of("ui").map(({ request: { type, id, ...request } }) => request);
  assert.deepEqual(said, [
    { method: "notify", message: "" },
    { method: "select", title: "t", options: ["1", "2"] },
    { method: "confirm", title: "only title", message: "" },
  ]);
  assert.deepEqual(server.of("fork").map(({ entryId }) => entryId), ["5"]);
});

for (const [what, body, error] of [
  ["without an end", "yield { type: 'odd' };", "streamSimple: the stream ended without done or error"],
  ["without a message", "yield { type: 'done', reason: 'stop' };", "streamSimple: the event done has no message"],
]) {
  test(`a model's answer ${what} has failed`, async (t) => {
    const extension = `export default (pi) =>
      pi.registerProvider("mine", { api: "own", models: [{ id: "m" }], streamSimple: async function* () { ${body} } });`;
    const server = await started({ test: t, extensions: [extension], answers: { api_key: {} } });
    const call = { type: "model_call", model: { provider: "mine", id: "m" }, messages: [], level: "off" };
    assert.deepEqual(await server.ask(call), { type: "failed", error });
    assert.deepEqual(server.of("model_event"), []);
  });
}
