// bun drive.mjs CLIENT SERVER EXTENSION: drives pi-rpc with omp's RpcClient of the module CLIENT, in the working directory.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";

const [module, server, extension] = process.argv.slice(2);
const { RpcClient } = await import(module);

const large = "é".repeat(700_000);
const script = {
  turns: [
    { match: "wait", onResult: "", repeat: true, say: [{ text: "It is there." }] },
    { match: "wait", say: [{ tool: "bash", arguments: { command: "until [ -e go ]; do sleep 0.01; done" } }] },
    { match: "weather", onResult: "", repeat: true, say: [{ text: "It rains." }] },
    { match: "weather", repeat: true, say: [{ tool: "weather", arguments: { city: "Bern" } }] },
    { match: "hang", repeat: true, say: [{ text: "Well" }], hang: true },
    { repeat: true, say: [{ text: "As you say." }] },
  ],
};
writeFileSync("script.json", JSON.stringify(script));
mkdirSync(".omp/agent", { recursive: true });
writeFileSync(".omp/agent/settings.json", JSON.stringify({ compaction: { keepRecentTokens: 1 } }));

const cities = [];
const client = new RpcClient({
  command: [server, "--dialect", "omp"],
  model: "scripted/script.json",
  args: ["-e", extension],
  customTools: [
    {
      name: "weather",
      description: "Tells the weather.",
      parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
      async execute({ city }, context) {
        cities.push(city);
        context.sendUpdate("Looking out");
        return "Rain";
      },
    },
  ],
});
const lists = [];
client.onAvailableCommandsUpdate((commands) => lists.push(commands));

// Longer than all of it takes, on a busy machine; what is waited for in vain would be waited for for ever.
setTimeout(() => {
  console.error(`no end of: ${current}`);
  process.exit(1);
}, 120_000).unref();

/** The next event that fits. */
function next(fits) {
  return new Promise((resolve) => {
    const leave = client.onSessionEvent((event) => {
      if (fits(event)) {
        leave();
        resolve(event);
      }
    });
  });
}

const typed = (type) => next((event) => event.type === type);

/** Role and text of each message of the conversation. */
async function texts() {
  const text = (content) => (typeof content === "string" ? content : content.map((block) => block.text ?? block.type).join());
  return (await client.getMessages()).filter(({ role }) => role !== "custom").map(
    (message) => `${message.role}: ${text(message.content ?? message.summary ?? message.output)}`,
  );
}

let current = "start";

async function check(name, body) {
  current = name;
  try {
    await body();
  } catch (error) {
    console.error(`${name}: ${error.stack ?? error}`);
    console.error(client.getStderr());
    process.exit(1);
  }
}

await check("start negotiates and sets host tools", async () => {
  await client.start();
  assert.equal((await client.getState()).isStreaming, false);
});

await check("prompt yields all events of its run", async () => {
  const events = await client.promptAndWait("Hello");
  assert.equal(events.at(0).type, "agent_start");
  assert.equal(events.at(-1).type, "agent_end");
  assert.equal(events.at(-1).isTerminal, true);
  assert.equal(events.flatMap((event) => event.assistantMessageEvent?.delta ?? []).join(""), "As you say.");
  assert.equal(await client.getLastAssistantText(), "As you say.");
  assert.deepEqual(await texts(), ["user: Hello", "assistant: As you say."]);
});

await check("steering and follow-up are delivered in the run", async () => {
  const [idle, started] = [client.waitForIdle(), typed("tool_execution_start")];
  await client.prompt("wait for it");
  await started;
  await client.steer("Turn left");
  await client.followUp("Then right");
  assert.equal((await client.getState()).queuedMessageCount, 2);
  writeFileSync("go", "");
  await idle;
  assert.deepEqual(
    (await texts()).slice(4).filter((text) => !text.startsWith("toolResult")),
    ["user: Turn left", "assistant: As you say.", "user: Then right", "assistant: As you say."].slice(-4),
  );
});

await check("follow-up without a run starts one", async () => {
  const idle = client.waitForIdle();
  await client.followUp("And on");
  await idle;
  assert.deepEqual((await texts()).slice(-2), ["user: And on", "assistant: As you say."]);
});

await check("host tool is called", async () => {
  const events = await client.promptAndWait("weather, please");
  assert.deepEqual(cities, ["Bern"]);
  const end = events.find((event) => event.type === "tool_execution_end");
  assert.deepEqual([end.toolName, end.isError, end.result.content], ["weather", false, [{ type: "text", text: "Rain" }]]);
  assert.equal((await texts()).at(-1), "assistant: It rains.");
});

await check("large messages come whole", async () => {
  // Else it would be compacted.
  await client.setAutoCompaction(false);
  await client.promptAndWait(large);
  assert.deepEqual((await texts()).slice(-2), [`user: ${large}`, "assistant: As you say."]);
  const page = await client.getMessagesPage({ limit: 1 });
  assert.equal(page.messages.length, 1);
  assert.equal(typeof page.nextCursor, "string");
  await assert.rejects(client.getMessagesPage({ cursor: "none" }), { message: "Invalid RPC message cursor" });
});

await check("abort ends the run", async () => {
  const [idle, update] = [client.waitForIdle(), typed("message_update")];
  await client.prompt("hang");
  await update;
  await client.abort();
  await idle;
  const { role, stopReason, errorMessage } = (await client.getMessages()).at(-1);
  assert.deepEqual([role, stopReason, errorMessage], ["assistant", "aborted", "Interrupted by user"]);
});

await check("abort and prompt starts another run", async () => {
  const update = typed("message_update");
  await client.prompt("hang");
  await update;
  const first = client.waitForIdle();
  const response = client.abortAndPrompt("Go on");
  await first;
  const second = client.waitForIdle();
  await response;
  await second;
  assert.equal((await texts()).at(-1), "assistant: As you say.");
});

await check("bash returns its output", async () => {
  const { output, exitCode, cancelled, truncated, totalLines } = await client.bash("echo a line; exit 3");
  assert.deepEqual([output, exitCode, cancelled, truncated], ["a line\n", 3, false, false]);
  assert.equal(typeof totalLines, "number");
});

await check("branch starts where the user wrote", async () => {
  const { sessionFile } = await client.getState();
  const messages = await client.getBranchMessages();
  assert.deepEqual(messages.slice(0, 2).map(({ text }) => text), ["Hello", "wait for it"]);
  const commands = lists.length;
  assert.deepEqual(await client.branch(messages[1].entryId), { text: "wait for it", cancelled: false });
  assert.equal(lists.length, commands + 1);
  assert.deepEqual(await texts(), ["user: Hello", "assistant: As you say."]);
  assert.notEqual((await client.getState()).sessionFile, sessionFile);
  assert.deepEqual(await client.switchSession(sessionFile), { cancelled: false });
  assert.equal((await client.getState()).sessionFile, sessionFile);
});

await check("compact returns a summary", async () => {
  const { summary, firstKeptEntryId, tokensBefore } = await client.compact("Mind the gap.");
  assert.equal(typeof firstKeptEntryId, "string");
  assert.ok(summary.length > 0 && tokensBefore > 0);
});

await check("models, levels and modes are set", async () => {
  const ids = (await client.getAvailableModels()).map(({ id }) => id);
  assert.deepEqual(ids, ["demo", "script.json"]);
  await client.setModel("scripted", "demo");
  await assert.rejects(client.setModel("scripted", "none"), { message: "Model not found: scripted/none" });
  await client.setThinkingLevel("low");
  assert.deepEqual(await client.cycleThinkingLevel(), { level: "medium" });
  assert.equal((await client.cycleModel()).model.id, "script.json");
  await client.setSteeringMode("all");
  await client.setFollowUpMode("all");
  await client.setAutoCompaction(false);
  await client.setAutoRetry(false);
  await client.abortRetry();
  await client.abortBash();
  const { model, steeringMode, followUpMode, autoCompactionEnabled } = await client.getState();
  assert.deepEqual([model.id, steeringMode, followUpMode, autoCompactionEnabled], ["script.json", "all", "all", false]);
});

await check("lists are read", async () => {
  const { sessionId } = await client.getState();
  assert.equal((await client.getSessionStats()).sessionId, sessionId);
  assert.deepEqual((await client.getAvailableCommands()).map(({ name }) => name), ["dlg", "fire", "boom", "usermsg", "bye"]);
  assert.deepEqual(await client.getSubagents(), []);
  assert.equal(await client.setSubagentSubscription("events"), "events");
  assert.ok(Array.isArray(await client.getLoginProviders()));
  const { path } = await client.exportHtml("page.html");
  assert.match(readFileSync(path, "utf8"), /^<!doctype html>/i);
});

await check("new session is empty", async () => {
  assert.deepEqual(await client.newSession(), { cancelled: false });
  assert.deepEqual(await client.getMessages(), []);
});

await check("stop ends the server", async () => {
  const { sessionFile } = await client.getState();
  await client.stop();
  assert.equal(existsSync(sessionFile), false);
  assert.equal(client.getStderr(), "");
});
process.exit(0);
