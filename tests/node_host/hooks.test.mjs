/** What handlers are given for each hook, and what the server is told of what they return, by version of pi's API. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { started } from "./server.mjs";

const MODEL = { provider: "p", id: "m" };
const USER = { role: "user", content: "hi", timestamp: 1 };
const ENTRY = { type: "message", id: "e1", parentId: null, timestamp: "2026-01-01T00:00:00.000Z", message: USER };

/** What the server is told of a usage with these members alone. */
function usage(input, total) {
  const none = { output: 0, cacheRead: 0, cacheWrite: 0 };
  return { ...none, input, totalTokens: 0, cost: { ...none, input: 0, total } };
}

/**
 * Each row: the hook; what a handler is given in 0.52 (`old`) and in 1.5 (`now`; absent: the same); what handlers
 * return, and the result that the server is told. Handlers with `edit` change the event in place.
 */
const TABLE = [
  {
    hook: { type: "session_before_switch", reason: "resume", targetSessionFile: "/s" },
    old: { type: "session_before_switch", reason: "resume", targetSessionFile: "/s" },
    returned: [{ cancel: true }],
    result: { cancel: true },
  },
  {
    hook: { type: "session_before_fork", entryId: "e1", position: "at" },
    old: { type: "session_before_fork", entryId: "e1" },
    now: { type: "session_before_fork", entryId: "e1", position: "at" },
    returned: [{ cancel: false }],
    result: {},
  },
  {
    hook: {
      type: "session_before_compact",
      firstKeptEntryId: "e1",
      tokensBefore: 9,
      messagesToSummarize: [USER],
      readFiles: ["a"],
      modifiedFiles: ["b"],
      reserveTokens: 1,
      keepRecentTokens: 2,
      customInstructions: "short",
      reason: "overflow",
      willRetry: true,
    },
    old: {
      type: "session_before_compact",
      preparation: {
        firstKeptEntryId: "e1",
        messagesToSummarize: [USER],
        turnPrefixMessages: [],
        isSplitTurn: false,
        tokensBefore: 9,
        fileOps: { read: ["a"], written: [], edited: ["b"] },
        settings: { enabled: true, reserveTokens: 1, keepRecentTokens: 2 },
      },
      branchEntries: [ENTRY],
      customInstructions: "short",
      signal: "a signal",
    },
    more: { reason: "overflow", willRetry: true },
    returned: [{ compaction: { summary: "s", firstKeptEntryId: "e1", tokensBefore: 9, details: { x: 1 }, usage: { input: 3, cost: { total: 1 } } } }],
    result: { compaction: { summary: "s", firstKeptEntryId: "e1", tokensBefore: 9, details: { x: 1 }, usage: usage(3, 1) } },
  },
  {
    hook: { type: "session_compact", compactionEntry: ENTRY, fromExtension: false, reason: "manual", willRetry: false },
    old: { type: "session_compact", compactionEntry: ENTRY, fromExtension: false },
    more: { reason: "manual", willRetry: false },
    returned: [],
    result: undefined,
  },
  {
    hook: { type: "session_before_tree", targetId: "e1", entriesToSummarize: [ENTRY], userWantsSummary: true },
    old: {
      type: "session_before_tree",
      preparation: {
        targetId: "e1",
        oldLeafId: null,
        commonAncestorId: null,
        entriesToSummarize: [ENTRY],
        userWantsSummary: true,
      },
      signal: "a signal",
    },
    returned: [{ summary: { summary: "s", usage: { input: -1, cost: NaN } }, label: "l" }],
    result: { summary: { summary: "s", usage: usage(0, 0) }, label: "l" },
  },
  {
    hook: { type: "session_tree", newLeafId: "e1", fromExtension: true },
    old: { type: "session_tree", newLeafId: "e1", oldLeafId: null, fromExtension: true },
    returned: [],
    result: undefined,
  },
  {
    hook: { type: "model_select", model: MODEL, source: "cycle" },
    old: { type: "model_select", model: MODEL, source: "cycle" },
    returned: [],
    result: undefined,
  },
  {
    hook: { type: "thinking_level_select", level: "high", previousLevel: "low" },
    since: "0.73",
    old: { type: "thinking_level_select", level: "high", previousLevel: "low" },
    returned: [],
    result: undefined,
  },
  {
    hook: { type: "input", text: "one", source: "rpc", streamingBehavior: "steer" },
    old: { type: "input", text: "one", source: "rpc" },
    more: { streamingBehavior: "steer" },
    returned: [{ action: "transform", text: "two" }, { action: "continue" }],
    result: { action: "transform", text: "two" },
  },
  {
    hook: { type: "input", text: "one", source: "rpc" },
    old: { type: "input", text: "one", source: "rpc" },
    returned: [{ action: "handled" }, "never asked"],
    result: { action: "handled" },
  },
  {
    hook: { type: "tool_call", toolCallId: "t", toolName: "read", input: { path: "a" } },
    old: { type: "tool_call", toolCallId: "t", toolName: "read", input: { path: "a" } },
    returned: [{ block: true, reason: "no", terminate: true }, "never asked"],
    result: { block: true, reason: "no", terminate: true },
  },
  {
    hook: { type: "tool_call", toolCallId: "t", toolName: "read", input: { path: "a" } },
    old: { type: "tool_call", toolCallId: "t", toolName: "read", input: { path: "a" } },
    edit: "event.input.path = 'b'",
    returned: [],
    result: { input: { path: "b" } },
  },
  {
    hook: { type: "tool_result", toolCallId: "t", toolName: "read", input: {}, content: [], isError: false },
    old: { type: "tool_result", toolCallId: "t", toolName: "read", input: {}, content: [], isError: false },
    returned: [{ content: [{ type: "text", text: "x" }] }, { isError: true }],
    result: { content: [{ type: "text", text: "x" }], isError: true },
  },
  {
    hook: { type: "context", messages: [USER] },
    old: { type: "context", messages: [USER] },
    returned: [{ messages: [USER, USER] }],
    result: { messages: [USER, USER] },
  },
  {
    hook: { type: "context", messages: [USER] },
    old: { type: "context", messages: [USER] },
    edit: "event.messages.pop()",
    returned: [],
    result: { messages: [] },
  },
  {
    hook: { type: "message_end", message: USER },
    since: "0.73",
    old: { type: "message_end", message: USER },
    returned: [{ message: { ...USER, content: "ho" } }],
    result: { messages: [{ ...USER, content: "ho" }] },
  },
  {
    hook: { type: "before_provider_request", payload: { a: 1 } },
    since: "0.58",
    old: { type: "before_provider_request", payload: { a: 1 } },
    returned: [{ a: 2 }],
    result: { payload: { a: 2 } },
  },
  {
    hook: { type: "before_provider_headers", headers: { a: "1", b: "2" } },
    since: "1.5",
    old: { type: "before_provider_headers", headers: { a: "1", b: "2" } },
    edit: "event.headers.a = null; event.headers.c = 3",
    returned: [],
    result: { headers: { b: "2", c: "3" } },
  },
  {
    hook: { type: "after_provider_response", status: 200, headers: { a: "1" } },
    since: "0.73",
    old: { type: "after_provider_response", status: 200, headers: { a: "1" } },
    returned: [],
    result: undefined,
  },
  {
    hook: { type: "provider_stream_event", provider: "p", api: "a", model: "m", data: { type: "ping" } },
    since: "1.5",
    old: { type: "provider_stream_event", provider: "p", api: "a", model: "m", data: { type: "ping" } },
    returned: [],
    result: undefined,
  },
  {
    hook: { type: "cache_warming_decision", warmCost: 0.1, missCost: 0.5, continuationProbability: 1, warms: true },
    since: "1.5",
    old: { type: "cache_warming_decision", warmCost: 0.1, missCost: 0.5, continuationProbability: 1, action: "warm" },
    returned: [{ action: "warm" }, { action: "stop" }, {}],
    result: { warms: false },
  },
  {
    hook: { type: "cache_warming_decision", warmCost: 0.1, missCost: 0.1, continuationProbability: 0.15, warms: false },
    since: "1.5",
    old: { type: "cache_warming_decision", warmCost: 0.1, missCost: 0.1, continuationProbability: 0.15, action: "stop" },
    returned: [],
    result: undefined,
  },
  {
    hook: { type: "mcp_servers_change", servers: [{ name: "m", config: { command: "x" }, path: "/e" }] },
    since: "1.5",
    old: { type: "mcp_servers_change", servers: [{ name: "m", config: { command: "x" }, extensionPath: "/e" }] },
    returned: [{ anything: true }],
    result: undefined,
  },
  {
    hook: { type: "user_bash", command: "ls", excludeFromContext: true, cwd: "/" },
    old: { type: "user_bash", command: "ls", excludeFromContext: true, cwd: "/" },
    returned: [{ result: { output: "o", exitCode: 3, cancelled: false, truncated: false } }, "never asked"],
    result: { bash: { output: "o", exitCode: 3, cancelled: false, truncated: false } },
  },
];

const VERSIONS = ["0.52", "0.58", "0.73", "1.5"];

/** Runs in the host: one handler for each thing to return, the first of which also notes what it was given. */
const EXTENSION = (hook, returned, edit) => `
  export default function (pi) {
    const plain = (name, value) =>
      value instanceof AbortSignal ? "a signal" : value instanceof Set ? [...value] : value;
    const returned = ${JSON.stringify(returned)};
    const count = Math.max(1, returned.length);
    for (let at = 0; at < count; at += 1) {
      pi.on(${JSON.stringify(hook)}, (event) => {
        if (returned[at] === "never asked") throw new Error("was asked");
        if (at === 0) pi.appendEntry("seen", JSON.parse(JSON.stringify(event, plain)));
        ${edit ?? ""};
        return returned[at];
      });
    }
  }`;

for (const api of VERSIONS) {
  for (const { hook, since = "0.52", old, now, more = {}, edit, returned, result } of TABLE) {
    const offered = VERSIONS.indexOf(api) >= VERSIONS.indexOf(since);
    const name = `${api}: ${hook.type} ${JSON.stringify(result) ?? "has no say"}`;
    test(offered ? name : `${api}: ${hook.type} is not asked for`, async (t) => {
      const server = await started({
        test: t,
        api,
        extensions: [EXTENSION(hook.type, returned, edit)],
        answers: { entries: { header: { id: "s1" }, entries: [ENTRY], leafId: "e1" } },
      });
      assert.equal(server.registered.hooks.includes(hook.type), offered);
      if (!offered) return;
      assert.deepEqual(await server.hook(hook), result);
      const seen = api === "1.5" ? { ...(now ?? old), ...more } : api === "0.73" ? (now ?? old) : old;
      assert.deepEqual(server.of("append_entry").map(({ data }) => data), [seen]);
      assert.deepEqual(server.of("error"), []);
    });
  }
}
