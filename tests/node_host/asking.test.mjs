/** What extensions ask for and get at once: the session, models, tools, how things are. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { started } from "./server.mjs";

const at = (minute) => `2026-01-01T00:0${minute}:00.000Z`;
const message = (id, parentId, minute, it) => ({ type: "message", id, parentId, timestamp: at(minute), message: it });
const USER = { role: "user", content: "hi", timestamp: 1 };
const SAID = { role: "assistant", content: [], provider: "p", model: "m", timestamp: 2 };
const COMPACTION = {
  type: "compaction",
  id: "c",
  parentId: "b",
  timestamp: at(3),
  summary: "S",
  firstKeptEntryId: "b",
  tokensBefore: 7,
};
const LABEL = { type: "label", id: "l", parentId: "c", timestamp: at(4), targetId: "b", label: "here" };
const SIDE = { type: "custom_message", id: "s", parentId: "a", timestamp: at(1), customType: "x", content: "y", display: true };
const ENTRIES = [message("a", null, 0, USER), SIDE, message("b", "a", 2, SAID), COMPACTION, LABEL];
const HEADER = { type: "session", id: "s1", cwd: "/there", timestamp: at(0) };
const MODEL = { provider: "p", id: "m", name: "M" };
const OTHER = { provider: "q", id: "n", name: "N" };
const TOOL = { name: "read", description: "Reads", parameters: { type: "object" }, active: true };

const ANSWERS = {
  entries: ({ since }) => ({ header: HEADER, entries: ENTRIES.slice(since), leafId: "l" }),
  state: {
    isIdle: false,
    hasPendingMessages: true,
    sessionId: "s1",
    sessionFile: "/f",
    sessionName: "N",
    sessionDirectory: "/d",
    leafId: "l",
    entryCount: 5,
    activeTools: ["read"],
    thinkingLevel: "low",
    model: MODEL,
    contextUsage: { tokens: 1, contextWindow: 2, percent: 50 },
  },
  models: { models: [{ model: MODEL, usable: true }, { model: OTHER, usable: false }], scope: [MODEL] },
  tools: { tools: [TOOL] },
  commands: { commands: [{ name: "c", source: "prompt" }] },
  settings: { theme: "dark" },
  system_prompt: { systemPrompt: "P", options: { cwd: "/w" } },
  api_key: ({ provider }) => (provider === "p" ? { apiKey: "k", headers: { h: "1" }, isOAuth: true } : {}),
};

const SUMMARY = { role: "compactionSummary", summary: "S", tokensBefore: 7, timestamp: Date.parse(at(3)) };
const node = (entry, children, label) => ({ entry, children, ...(label && { label: label.label, labelTimestamp: label.timestamp }) });

/** Each row: an expression in `ctx` and `pi`, and what it gives. */
const TABLE = [
  ["ctx.sessionManager.getEntries().length", 5],
  ["ctx.sessionManager.getEntry('b').id", "b"],
  ["ctx.sessionManager.getEntry('?')", undefined],
  ["ctx.sessionManager.getLeafId()", "l"],
  ["ctx.sessionManager.getLeafEntry().id", "l"],
  ["ctx.sessionManager.getBranch().map((it) => it.id)", ["a", "b", "c", "l"]],
  ["ctx.sessionManager.getBranch('s').map((it) => it.id)", ["a", "s"]],
  ["ctx.sessionManager.getChildren('a').map((it) => it.id)", ["s", "b"]],
  ["ctx.sessionManager.getLabel('b')", "here"],
  ["ctx.sessionManager.getHeader()", HEADER],
  ["ctx.sessionManager.getCwd()", "/there"],
  ["ctx.sessionManager.getSessionId()", "s1"],
  ["ctx.sessionManager.getSessionFile()", "/f"],
  ["ctx.sessionManager.getSessionDir()", "/d"],
  ["ctx.sessionManager.getSessionName()", "N"],
  [
    "ctx.sessionManager.getTree()",
    [node(ENTRIES[0], [node(SIDE, []), node(ENTRIES[2], [node(COMPACTION, [node(LABEL, [])])], LABEL)])],
  ],
  ["ctx.sessionManager.buildContextEntries().map((it) => it.id)", ["c", "b", "l"]],
  [
    "ctx.sessionManager.buildSessionContext()",
    { messages: [SUMMARY, SAID], thinkingLevel: "off", model: { provider: "p", modelId: "m" } },
  ],
  ["ctx.isIdle()", false],
  ["ctx.hasPendingMessages()", true],
  ["ctx.getContextUsage()", { tokens: 1, contextWindow: 2, percent: 50 }],
  ["ctx.getSystemPrompt()", "P"],
  ["ctx.getSystemPromptOptions()", { cwd: "/w" }],
  ["ctx.model", MODEL],
  ["ctx.scopedModels", [{ model: MODEL }]],
  ["ctx.thinkingLevel", "low"],
  ["ctx.mode", "rpc"],
  ["ctx.hasUI", true],
  ["ctx.isProjectTrusted()", true],
  ["pi.getSessionName()", "N"],
  ["pi.getThinkingLevel()", "low"],
  ["pi.getActiveTools()", ["read"]],
  [
    "pi.getAllTools()",
    [
      {
        name: "read",
        description: "Reads",
        parameters: { type: "object" },
        sourceInfo: { path: "builtin:read", source: "builtin", scope: "temporary", origin: "top-level" },
        exposure: "direct",
      },
    ],
  ],
  ["pi.getCommands()", [{ name: "c", source: "prompt" }]],
  ["pi.getSettings()", { theme: "dark" }],
  ["ctx.modelRegistry.getAll().length", 2],
  ["ctx.modelRegistry.getAvailable()", [MODEL]],
  ["ctx.modelRegistry.find('q', 'n')", OTHER],
  ["ctx.modelRegistry.hasConfiguredAuth({ provider: 'q' })", false],
  ["ctx.modelRegistry.isUsingOAuth({ provider: 'p' })", true],
  ["await ctx.modelRegistry.getApiKey({ provider: 'p' })", "k"],
  ["await ctx.modelRegistry.getApiKeyForProvider('q')", undefined],
  ["await ctx.modelRegistry.getApiKeyAndHeaders({ provider: 'p' })", { ok: true, apiKey: "k", headers: { h: "1" } }],
  ["await pi.setModel({ provider: 'q', id: 'n' })", false],
];

test("what is asked for is as the server has it", async (t) => {
  const asked = TABLE.map(([expression]) => `async () => (${expression})`).join(",\n");
  const extension = `export default function (pi) {
    pi.registerCommand("ask", {
      handler: async (_, ctx) => {
        for (const ask of [${asked}]) pi.appendEntry("got", { value: await ask() });
      },
    });
  }`;
  const server = await started({ test: t, extensions: [extension], answers: ANSWERS });
  assert.deepEqual(await server.ask({ type: "command", name: "ask", arguments: "" }), { type: "done" });
  const got = server.of("append_entry").map(({ data }) => data.value);
  const named = (values) => Object.fromEntries(TABLE.map(([expression], index) => [expression, values[index]]));
  assert.deepEqual(named(got), named(TABLE.map(([, value]) => value)));
});

test("entries are asked for from where they are known, all of them again in another session, and once at a time", async (t) => {
  const asked = [];
  let header = HEADER;
  const server = await started({
    test: t,
    extensions: [
      (pi) => {
        pi.registerCommand("look", {
          handler: async (_, { sessionManager }) => {
            sessionManager.getEntries();
            pi.appendEntry("got", [sessionManager.getEntries().length, sessionManager.getLeafId()]);
          },
        });
      },
    ],
    answers: {
      entries: ({ since }) => {
        asked.push(since);
        return { header, entries: ENTRIES.slice(since, since === 0 ? 2 : 3), leafId: "x" };
      },
    },
  });
  const look = { type: "command", name: "look", arguments: "" };
  await server.ask(look);
  await server.ask(look);
  header = { ...HEADER, id: "s2" };
  await server.ask(look);
  assert.deepEqual(asked, [0, 2, 3, 0]);
  assert.deepEqual(server.of("append_entry").map(({ data }) => data), [[2, "x"], [3, "x"], [2, "x"]]);
});

test("what the server does not know is an error where it is asked for", async (t) => {
  const server = await started({
    test: t,
    extensions: [(pi) => pi.registerCommand("ask", { handler: async () => void pi.getSettings() })],
  });
  const end = await server.ask({ type: "command", name: "ask", arguments: "" });
  assert.deepEqual(end, { type: "failed", error: "nothing is known of settings" });
});
