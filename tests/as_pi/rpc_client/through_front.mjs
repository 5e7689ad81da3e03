// node through_front.mjs CLIENT: drives the agent of launcher.mjs with the RpcClient of the module CLIENT, in the working directory.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const { RpcClient } = await import(process.argv[2]);
const client = new RpcClient({
  cliPath: fileURLToPath(new URL("launcher.mjs", import.meta.url)),
  provider: "fake",
  model: "fake-1",
});
await client.start();
const launched = client.process;

// Longer than all of it takes, on a busy machine; what is waited for in vain would be waited for for ever.
setTimeout(() => process.exit(1), 240_000).unref();

/** The next event that fits. */
function next(fits) {
  return new Promise((resolve) => {
    const leave = client.onEvent((event) => {
      if (fits(event)) {
        leave();
        resolve(event);
      }
    });
  });
}

const typed = (type) => next((event) => event.type === type);

/** Who says what in the conversation. */
async function said() {
  const text = (content) => (typeof content === "string" ? content : content.map((block) => block.text ?? block.type).join());
  return (await client.getMessages()).map((message) => `${message.role}: ${text(message.content ?? message.summary ?? message.output)}`);
}

test("a prompt is waited for, and its snapshots are whole", async () => {
  const events = await client.promptAndWait("Hello");
  assert.equal(events.at(0).type, "agent_start");
  assert.equal(events.at(-1).type, "agent_end");
  const updates = events.filter((event) => event.type === "message_update");
  assert.equal(updates.flatMap((event) => event.assistantMessageEvent.delta ?? []).join(""), "As you say.");
  assert.equal(updates.at(-1).message.content[0].text, "As you say.");
  assert.ok(updates.every((event) => event.assistantMessageEvent.partial));
  assert.deepEqual(
    events.at(-1).messages.map(({ role }) => role),
    ["user", "assistant"],
  );
  assert.equal(await client.getLastAssistantText(), "As you say.");
  assert.deepEqual(await said(), ["user: Hello", "assistant: As you say."]);
});

test("a prompt straight behind the end is served", async () => {
  const first = typed("agent_end");
  await client.prompt("Once");
  await first;
  const second = typed("agent_end");
  await client.prompt("Twice");
  await second;
  assert.equal((await said()).length, 6);
});

test("what is steered and follows up is heard in order", async () => {
  const [idle, started] = [client.waitForIdle(), typed("tool_execution_start")];
  await client.prompt("wait for it");
  await started;
  await client.steer("Turn left");
  await client.followUp("Then right");
  assert.equal((await client.getState()).pendingMessageCount, 2);
  writeFileSync("go", "");
  await idle;
  const heard = (await said()).slice(6).filter((line) => line.startsWith("user"));
  assert.deepEqual(heard, ["user: wait for it", "user: Turn left", "user: Then right"]);
});

test("a run is aborted", async () => {
  const [idle, says] = [client.waitForIdle(), typed("message_update")];
  await client.prompt("hang");
  await says;
  await client.abort();
  await idle;
  assert.equal((await client.getState()).isStreaming, false);
  assert.equal((await client.getMessages()).at(-1).stopReason, "aborted");
});

test("bash runs, and the model will see it", async () => {
  const { output, exitCode, cancelled } = await client.bash("echo a line; exit 3");
  assert.deepEqual({ output, exitCode, cancelled }, { output: "a line\n", exitCode: 3, cancelled: false });
});

test("models, levels, modes and names are set", async () => {
  assert.ok((await client.getAvailableModels()).some(({ id }) => id === "fake-2"));
  await client.setThinkingLevel("low");
  assert.equal((await client.getState()).thinkingLevel, "low");
  await client.setModel("fake", "fake-2");
  await client.setSteeringMode("all");
  await client.setFollowUpMode("all");
  await client.setAutoCompaction(false);
  await client.setAutoRetry(false);
  const { model, steeringMode, followUpMode, autoCompactionEnabled } = await client.getState();
  assert.deepEqual([model.id, steeringMode, followUpMode, autoCompactionEnabled], ["fake-2", "all", "all", false]);
  assert.equal((await client.getSessionStats()).sessionId, (await client.getState()).sessionId);
  assert.ok(Array.isArray(await client.getCommands()));
});

test("it forks where the user spoke", async () => {
  const messages = await client.getForkMessages();
  const { text, cancelled } = await client.fork(messages[1].entryId);
  assert.deepEqual({ text, cancelled }, { text: "Once", cancelled: false });
  assert.deepEqual(await said(), ["user: Hello", "assistant: As you say."]);
});

test("a new session is empty", async () => {
  assert.deepEqual(await client.newSession(), { cancelled: false });
  assert.deepEqual(await client.getMessages(), []);
});

test("it is stopped", async () => {
  const ended = new Promise((resolve) => launched.on("exit", () => resolve(true)));
  await client.stop();
  assert.equal(await ended, true);
});
