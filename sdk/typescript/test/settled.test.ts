import assert from "node:assert/strict";
import { test } from "node:test";
import { settling } from "./support/servers.js";

/** Says a run whose answer has this text and ends so. */
const RUN = `
  const run = (text, stopReason, willRetry) => {
    const message = { role: "assistant", content: [{ type: "text", text }], stopReason };
    say({ type: "agent_start" });
    say({ type: "turn_start" });
    say({ type: "message_start", message: { ...message, content: [], stopReason: "pending" } });
    say({ type: "message_update", usage: {}, assistantMessageEvent: { type: "text_delta", contentIndex: 0, delta: text } });
    say({ type: "message_end", message });
    say({ type: "turn_end", message, toolResults: [] });
    say({ type: "agent_end", messages: [message], willRetry });
  };
`;

test("a prompt is over when the session has settled, whatever the server says of itself before", async (t) => {
  const client = await settling(
    t,
    `${RUN}
    heard = (command) => {
      answer(command, { disposition: "started" });
      run("half", "error", true);
      say({ type: "auto_retry_start", attempt: 1, maxAttempts: 3, delayMs: 200, errorMessage: "Overloaded" });
      setTimeout(() => {
        run("whole", "stop", false);
        setTimeout(() => say({ type: "agent_settled", aborted: false }), 200);
      }, 200);
    };`,
  );
  const events = client.events();
  const { text, messages } = await client.prompt("Hello", { timeoutMs: 10_000 });
  assert.equal(text, "whole");
  assert.deepEqual(
    messages.map((message) => message.role === "assistant" && message.stopReason),
    ["error", "stop"],
  );
  const { value } = await events.next();
  assert.equal(value.type, "agent_start");
});

test("a prompt that an extension took waits for no run, not even for one that is open", async (t) => {
  const client = await settling(
    t,
    `heard = (command) => {
      answer(command, { disposition: command.message === "Hello" ? "handled" : "started" });
      if (command.message !== "Hello") say({ type: "agent_start" });
    };`,
  );
  assert.deepEqual(await client.prompt("Hello", { timeoutMs: 5000 }), { text: "", messages: [] });
  assert.equal(client.state, "idle");
  assert.deepEqual(await client.sendPrompt({ message: "Go on" }), { disposition: "started" });
  const fields = { message: "Hello", streamingBehavior: "steer" } as const;
  assert.deepEqual(await client.prompt(fields, { timeoutMs: 5000 }), { text: "", messages: [] });
});

test("a template is a prompt like any other where the server says that a run follows", async (t) => {
  const client = await settling(
    t,
    `${RUN}
    heard = (command) => {
      answer(command, { disposition: "started" });
      setTimeout(() => {
        run("from a template", "stop", false);
        say({ type: "agent_settled", aborted: false });
      }, 300);
    };`,
  );
  assert.equal((await client.prompt("/review", { timeoutMs: 5000 })).text, "from a template");
});

test("a prompt that was queued is over with the run that takes it up", async (t) => {
  const client = await settling(
    t,
    `${RUN}
    heard = (command) => {
      if (command.type === "prompt" && command.streamingBehavior === undefined) {
        answer(command, { disposition: "started" });
        say({ type: "agent_start" });
      } else {
        say({ type: "queue_update", steering: [], followUp: [command.message] });
        answer(command, { disposition: "queued" });
        say({ type: "agent_end", messages: [], willRetry: false });
        setTimeout(() => {
          run("both", "stop", false);
          say({ type: "agent_settled", aborted: false });
        }, 200);
      }
    };`,
  );
  const first = client.prompt("One", { timeoutMs: 10_000 });
  const events = client.events();
  while ((await events.next()).value.type !== "agent_start");
  const second = client.prompt({ message: "Two", streamingBehavior: "followUp" }, { timeoutMs: 10_000 });
  assert.deepEqual([(await first).text, (await second).text], ["both", "both"]);
});
