// node drive.mjs CLIENT DIALECT EXTENSION: drives pi-rpc with the RpcClient of the module CLIENT, in the working directory.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const [module, dialect, extension] = process.argv.slice(2);
const { RpcClient } = await import(module);

const script = {
  turns: [
    { match: "wait", onResult: "", repeat: true, say: [{ text: "It is there." }] },
    { match: "wait", say: [{ tool: "bash", arguments: { command: "until [ -e go ]; do sleep 0.01; done" } }] },
    { match: "hang", repeat: true, say: [{ text: "Well" }], hang: true },
    { repeat: true, say: [{ text: "As you say." }] },
  ],
};
writeFileSync("script.json", JSON.stringify(script));
mkdirSync(".pi/agent", { recursive: true });
writeFileSync(".pi/agent/settings.json", JSON.stringify({ compaction: { keepRecentTokens: 1 } }));

const client = new RpcClient({
  cliPath: fileURLToPath(new URL("launcher.mjs", import.meta.url)),
  args: ["--dialect", dialect, "--model", "scripted/script.json", "-e", extension],
});
await client.start();
const launched = client.process;

// Longer than all of it takes, on a busy machine; what is waited for in vain would be waited for for ever.
setTimeout(() => process.exit(1), 120_000).unref();

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

/** Who says what in the conversation, but for what the newest dialect puts in front. */
async function said() {
  const text = (content) => (typeof content === "string" ? content : content.map((block) => block.text ?? block.type).join());
  const messages = (await client.getMessages()).filter((message) => message.role !== "system");
  return messages.map((message) => `${message.role}: ${text(message.content ?? message.summary ?? message.output)}`);
}

test("a prompt is waited for, and all its events are had", async () => {
  const events = await client.promptAndWait("Hello");
  assert.equal(events.at(0).type, "agent_start");
  assert.equal(events.at(-1).type, "agent_end");
  const deltas = events.flatMap((event) => event.assistantMessageEvent?.delta ?? []);
  assert.equal(deltas.join(""), "As you say.");
  assert.equal(await client.getLastAssistantText(), "As you say.");
  assert.deepEqual(await said(), ["user: Hello", "assistant: As you say."]);
});

test("what is steered while a tool runs is heard behind it, and what follows up behind that", async () => {
  const [idle, started] = [client.waitForIdle(), typed("tool_execution_start")];
  await client.prompt("wait for it");
  await started;
  await client.steer("Turn left");
  await client.followUp("Then right");
  assert.equal((await client.getState()).pendingMessageCount, 2);
  writeFileSync("go", "");
  await idle;
  assert.deepEqual((await said()).slice(2), [
    "user: wait for it",
    "assistant: toolCall",
    "toolResult: (no output)",
    "user: Turn left",
    "assistant: As you say.",
    "user: Then right",
    "assistant: As you say.",
  ]);
});

test("a run is aborted", async () => {
  const [idle, says] = [client.waitForIdle(), typed("message_update")];
  await client.prompt("hang");
  await says;
  await client.abort();
  await idle;
  const { isStreaming } = await client.getState();
  const { role, stopReason } = (await client.getMessages()).at(-1);
  assert.deepEqual({ isStreaming, role, stopReason }, { isStreaming: false, role: "assistant", stopReason: "aborted" });
});

test("bash runs, and the model will see it", async () => {
  assert.deepEqual(await client.bash("echo a line; exit 3"), {
    output: "a line\n",
    exitCode: 3,
    cancelled: false,
    truncated: false,
  });
  assert.equal((await said()).at(-1), "bashExecution: a line\n");
});

test("a dialog of an extension is answered through its stdin: for that it has no method", async () => {
  for (const [kind, answer, told] of [
    ["select", { value: "beta" }, 'select="beta"'],
    ["confirm", { confirmed: true }, "confirm=true"],
    ["input", { cancelled: true }, "input=undefined"],
    ["editor", { value: "a\nb" }, 'editor="a\\nb"'],
  ]) {
    const asked = next((event) => event.type === "extension_ui_request" && event.method === kind);
    const notified = next((event) => event.type === "extension_ui_request" && event.method === "notify");
    const accepted = client.prompt(`/dlg ${kind}`);
    const { id } = await asked;
    client.process.stdin.write(`${JSON.stringify({ type: "extension_ui_response", id, ...answer })}\n`);
    await accepted;
    assert.equal((await notified).message, told);
  }
});

test("it forks where the user spoke", async () => {
  const { sessionFile } = await client.getState();
  const messages = await client.getForkMessages();
  assert.deepEqual(
    messages.map(({ text }) => text),
    ["Hello", "wait for it", "Turn left", "Then right", "hang"],
  );
  assert.deepEqual(await client.fork(messages[1].entryId), { text: "wait for it", cancelled: false });
  assert.deepEqual(await said(), ["user: Hello", "assistant: As you say."]);
  const forked = await client.getState();
  assert.notEqual(forked.sessionFile, sessionFile);
  assert.deepEqual(await client.switchSession(sessionFile), { cancelled: false });
  assert.equal((await client.getState()).sessionFile, sessionFile);
  await assert.rejects(client.fork("nothing"), { message: "Invalid entry ID for forking" });
});

const unknown = dialect === "pi" && "there is no such command, and no id in what refuses it";

test("it clones", { skip: unknown }, async () => {
  const [{ sessionFile }, messages] = [await client.getState(), await said()];
  assert.deepEqual(await client.clone(), { cancelled: false });
  assert.notEqual((await client.getState()).sessionFile, sessionFile);
  assert.deepEqual(await said(), messages);
});

test("it compacts", async () => {
  const { summary, firstKeptEntryId, tokensBefore } = await client.compact("Mind the gap.");
  assert.match(summary, /^## Goal\n/);
  assert.equal(typeof firstKeptEntryId, "string");
  assert.ok(tokensBefore > 0);
  assert.equal((await said())[0], `compactionSummary: ${summary}`);
});

test("models, levels, modes and names are set", async () => {
  const ids = (await client.getAvailableModels()).map(({ id }) => id);
  assert.deepEqual(ids, ["demo", "script.json"]);
  await client.setModel("scripted", "demo");
  await assert.rejects(client.setModel("scripted", "none"), { message: "Model not found: scripted/none" });
  await client.setThinkingLevel("low");
  assert.deepEqual(await client.cycleThinkingLevel(), { level: "medium" });
  assert.equal((await client.getState()).thinkingLevel, "medium");
  assert.equal((await client.cycleModel()).model.id, "script.json");
  await client.setSteeringMode("all");
  await client.setFollowUpMode("all");
  await client.setAutoCompaction(false);
  await client.setAutoRetry(false);
  await client.abortRetry();
  await client.abortBash();
  await client.setSessionName("A name");
  const { model, steeringMode, followUpMode, autoCompactionEnabled, sessionName } = await client.getState();
  assert.deepEqual(
    [model.id, steeringMode, followUpMode, autoCompactionEnabled, sessionName],
    ["script.json", "all", "all", false, "A name"],
  );
});

test("what there is is told", async () => {
  const stats = await client.getSessionStats();
  assert.equal(stats.sessionId, (await client.getState()).sessionId);
  assert.deepEqual(
    (await client.getCommands()).map(({ name, source }) => `${source}: ${name}`),
    ["dlg", "fire", "boom", "usermsg", "bye"].map((name) => `extension: ${name}`),
  );
  const { path } = await client.exportHtml("page.html");
  assert.match(readFileSync(path, "utf8"), /^<!doctype html>/i);
});

test("a new session is empty", async () => {
  const { sessionFile } = await client.getState();
  assert.deepEqual(await client.newSession(sessionFile), { cancelled: false });
  assert.deepEqual(await client.getMessages(), []);
});

test("it is stopped by SIGTERM", async () => {
  const ended = new Promise((resolve) => launched.on("exit", (code) => resolve(code)));
  await client.stop();
  assert.equal(await ended, 143);
  assert.equal(client.getStderr(), "");
});
