/** Several extensions, several handlers: order, errors, and the instructions that each sees. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { started } from "./server.mjs";

const failing = (pi) => {
  for (const event of ["input", "tool_call", "user_bash", "session_tree"]) {
    pi.on(event, () => {
      throw new Error(`no ${event}`);
    });
  }
};
const replying = (pi) => {
  pi.on("input", ({ text }) => ({ action: "transform", text: `${text}!` }));
  pi.on("user_bash", () => ({ operations: { exec: async (_c, _d, { onData }) => (onData("out"), { exitCode: 0 }) } }));
};

test("a handler that fails is told of, and the next one goes on from what the one before it made", async (t) => {
  const server = await started({ test: t, extensions: [replying, failing, replying] });
  const result = await server.hook({ type: "input", text: "a", source: "rpc" });
  assert.deepEqual(result, { action: "transform", text: "a!!" });
  assert.deepEqual(server.of("error"), [
    { type: "error", extensionPath: server.paths[1], event: "input", error: "no input" },
  ]);
});

test("a handler of tool_call that fails blocks the call, and is not told of besides", async (t) => {
  const server = await started({ test: t, extensions: [failing] });
  const hook = { type: "tool_call", toolCallId: "t", toolName: "read", input: {} };
  assert.deepEqual(await server.hook(hook), { type: "failed", error: "no tool_call" });
  assert.deepEqual(server.of("error"), []);
});

for (const [api, result] of [
  ["0.73", { bash: { output: "out", exitCode: 0, cancelled: false, truncated: false } }],
  ["1.5", { type: "failed", error: "no user_bash" }],
]) {
  test(`${api}: after a handler of user_bash that fails, ${result.bash ? "the next runs the command" : "none does"}`, async (t) => {
    const server = await started({ test: t, api, extensions: [failing, replying] });
    const hook = { type: "user_bash", command: "x", excludeFromContext: false, cwd: "/" };
    assert.deepEqual(await server.hook(hook), result);
  });
}

const instructing = (pi) => {
  pi.on("before_agent_start", (event, ctx) => {
    pi.appendEntry("seen", [event.prompt, event.systemPrompt, ctx.getSystemPrompt()]);
    return { systemPrompt: `${event.systemPrompt}+`, message: { customType: "m", content: event.systemPrompt } };
  });
};

for (const [api, ofContext] of [
  ["0.52", ["base", "base"]],
  ["0.73", ["base", "base+"]],
  ["1.5", ["base", "base+"]],
]) {
  test(`${api}: instructions go from handler to handler, and messages are gathered`, async (t) => {
    const answers = { system_prompt: { systemPrompt: "base", options: {} } };
    const server = await started({ test: t, api, extensions: [instructing, instructing], answers });
    const result = await server.hook({ type: "before_agent_start", prompt: "p", systemPrompt: "base" });
    const message = (content) => ({ customType: "m", content, display: false });
    assert.deepEqual(result, { customMessages: [message("base"), message("base+")], systemPrompt: "base++" });
    assert.deepEqual(
      server.of("append_entry").map(({ data }) => data),
      [
        ["p", "base", ofContext[0]],
        ["p", "base+", ofContext[1]],
      ],
    );
  });
}

test("a section that is added to the parts of the instructions is added to the instructions", async (t) => {
  const server = await started({
    test: t,
    extensions: [(pi) => pi.on("before_agent_start", (event) => void (event.systemPromptOptions.sections.rule = "Be kind."))],
    answers: { system_prompt: { systemPrompt: "base", options: { selectedTools: ["read"] } } },
  });
  const result = await server.hook({ type: "before_agent_start", prompt: "p", systemPrompt: "base" });
  assert.deepEqual(result, { systemPrompt: "base\n\n<rule>\nBe kind.\n</rule>" });
});

test("a message of another role does not take the place of one", async (t) => {
  const server = await started({
    test: t,
    extensions: [(pi) => pi.on("message_end", () => ({ message: { role: "assistant", content: [] } }))],
  });
  assert.equal(await server.hook({ type: "message_end", message: { role: "user", content: "x" } }), undefined);
  const [{ error }] = server.of("error");
  assert.equal(error, "message_end handlers must return a message with the same role");
});

test("paths of skills are those of the extension that names them", async (t) => {
  const server = await started({
    test: t,
    extensions: [(pi) => pi.on("resources_discover", () => ({ skillPaths: ["skills", "/abs"], promptPaths: ["./p.md"] }))],
  });
  const result = await server.hook({ type: "resources_discover", cwd: "/", reason: "startup" });
  assert.deepEqual(result, { skillPaths: [`${server.folder}/skills`, "/abs"], promptPaths: [`${server.folder}/p.md`] });
});

test("an unsubscribed handler is not asked, and the server hears that nobody is", async (t) => {
  const server = await started({
    test: t,
    extensions: [
      (pi) => {
        const off = pi.on("input", () => ({ action: "handled" }));
        pi.on("model_select", () => off());
      },
    ],
  });
  assert.deepEqual(await server.hook({ type: "input", text: "a", source: "rpc" }), { action: "handled" });
  await server.hook({ type: "model_select", model: {}, source: "set" });
  const { hooks } = await server.hear("register");
  assert.deepEqual(hooks.includes("input"), false);
  assert.equal(await server.hook({ type: "input", text: "a", source: "rpc" }), undefined);
});
