/** Sessions of an extension's own, without pi: what they ask the server for, and what their listeners hear. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { STANDINS } from "./loading.mjs";

const { createAgentSession, SessionManager } = await import(`${STANDINS}pi-coding-agent.mjs`);

const MODEL = { id: "m", provider: "p", api: "a" };
const text = (text) => [{ type: "text", text }];
const answer = (content, stopReason = "stop") => ({ role: "assistant", content, stopReason, timestamp: 1 });
const calls = (name, args) => answer([{ type: "toolCall", id: "t1", name, arguments: args }], "toolUse");

/** A server whose model says these; gives what it is asked. */
function server(answers) {
  const asked = [];
  globalThis[Symbol.for("pi-rpc.host")] = {
    api: "1.5",
    cwd: "/work",
    agentDirectory: "/agent",
    query: (about) => ({ state: { model: MODEL, thinkingLevel: "low" }, system_prompt: { systemPrompt: "Main." } })[about],
    request: async (frame, signal) => {
      asked.push(structuredClone(frame));
      if (frame.type === "run_tool") return { isError: false, result: { content: text("ran"), details: {} } };
      const next = answers.shift();
      if (next) return { message: next };
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));
    },
  };
  return asked;
}

/** The session, and what it says: types, of the messages with their roles. */
async function begun(options = {}) {
  const { session } = await createAgentSession({ sessionManager: SessionManager.inMemory(), tools: [], ...options });
  const heard = [];
  session.subscribe(({ type, message }) => type === "message_update" || heard.push(type === "message_end" ? message.role : type));
  return { session, heard: () => heard.splice(0).filter((type) => type !== "message_start").join(" ") };
}

test("an own session carries out the calls of its model and goes on", async () => {
  const asked = server([calls("read", { path: "x" }), answer(text("Done.")), answer(text("Again."))]);
  const { session, heard } = await begun({ tools: ["read"] });
  await session.prompt("Look");
  assert.equal(
    heard(),
    "agent_start turn_start system user assistant tool_execution_start tool_execution_end toolResult turn_end " +
      "turn_start assistant turn_end agent_end agent_settled",
  );
  assert.equal(session.getLastAssistantText(), "Done.");
  await session.prompt("And");
  assert.equal(heard(), "agent_start turn_start user assistant turn_end agent_end agent_settled");
  const told = asked.map(({ type, systemPrompt, tools, level, messages, arguments: args }) =>
    type === "run_tool" ? args : [systemPrompt, tools.map(({ name }) => name), level, messages.map(({ role }) => role).join(" ")],
  );
  assert.deepEqual(told, [
    ["Main.", ["read"], "low", "user"],
    { path: "x" },
    ["Main.", ["read"], "low", "user assistant toolResult"],
    ["Main.", ["read"], "low", "user assistant toolResult assistant user"],
  ]);
});

test("a tool that fails or is unknown is told to the model of an own session", async () => {
  server([calls("mine", {}), calls("other", {}), answer(text("Well."))]);
  const mine = { name: "mine", description: "Mine.", parameters: { type: "object" }, execute: () => Promise.reject(new Error("broke")) };
  const { session } = await begun({ tools: ["mine"], customTools: [mine] });
  await session.prompt("Go");
  const results = session.messages.filter(({ role }) => role === "toolResult");
  assert.deepEqual(results.map(({ content, isError }) => [content, isError]), [
    [text("broke"), true],
    [text("Tool other not found"), true],
  ]);
});

test("an own session hears what is queued, and ends when it is aborted", async () => {
  server([answer(text("One.")), answer(text("Two."))]);
  const { session, heard } = await begun();
  const first = session.prompt("First");
  await assert.rejects(session.prompt("Second"), /streamingBehavior/);
  await session.prompt("Second", { streamingBehavior: "followUp" });
  await first;
  assert.equal(heard(), "agent_start turn_start user assistant turn_end turn_start user assistant turn_end agent_end agent_settled");
  const third = session.prompt("Third");
  await new Promise(setImmediate);
  await session.abort();
  await third;
  assert.equal(session.messages.at(-1).stopReason, "aborted");
  assert.equal(session.isStreaming, false);
});

test("an option that an own session does not understand is named", async () => {
  server([]);
  await assert.rejects(createAgentSession({ excludeTools: ["read"] }), /createAgentSession: the option excludeTools is not supported/);
  const extensions = { getExtensions: () => ({ extensions: [{}], errors: [] }) };
  await assert.rejects(createAgentSession({ resourceLoader: extensions }), /extensions are not supported/);
});
