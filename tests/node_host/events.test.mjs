/** Events of a run: what extensions hear of each, by version, and in which order. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { started } from "./server.mjs";

const ASSISTANT = { role: "assistant", content: [], stopReason: "stop", timestamp: 2 };
const DONE = { ...ASSISTANT, content: [{ type: "text", text: "hello" }] };

/** Notes everything; what changes from run to run is left out. */
const noting = (...events) => `
  export default function (pi) {
    const keep = (name, value) => (name === "timestamp" && value > 10 ? undefined : value);
    for (const event of ${JSON.stringify(events)}) {
      pi.on(event, (it) => pi.appendEntry(event, JSON.parse(JSON.stringify(it, keep))));
    }
  }`;

const update = (step) => ({ type: "message_update", assistantMessageEvent: step });

/** What host applications get, and what extensions hear of it. */
const RUN = [
  [{ type: "agent_start" }, { type: "agent_start" }],
  [{ type: "turn_start" }, { type: "turn_start", turnIndex: 0 }],
  [{ type: "message_start", message: ASSISTANT }, { type: "message_start", message: ASSISTANT }],
  [
    update({ type: "text_start", contentIndex: 0 }),
    {
      type: "message_update",
      message: { ...ASSISTANT, content: [{ type: "text", text: "" }] },
      assistantMessageEvent: {
        type: "text_start",
        contentIndex: 0,
        partial: { ...ASSISTANT, content: [{ type: "text", text: "" }] },
      },
    },
  ],
  [
    update({ type: "text_delta", contentIndex: 0, delta: "hello" }),
    {
      type: "message_update",
      message: DONE,
      assistantMessageEvent: { type: "text_delta", contentIndex: 0, delta: "hello", partial: DONE },
    },
  ],
  [
    { type: "tool_execution_start", toolCallId: "t", toolName: "read", args: { a: 1 } },
    { type: "tool_execution_start", toolCallId: "t", toolName: "read", args: { a: 1 } },
  ],
  [
    { type: "tool_execution_update", toolCallId: "t", toolName: "read", args: {}, partialResult: { content: [] } },
    { type: "tool_execution_update", toolCallId: "t", toolName: "read", args: {}, partialResult: { content: [] } },
  ],
  [
    { type: "tool_execution_end", toolCallId: "t", toolName: "read", result: { content: [] }, isError: false },
    { type: "tool_execution_end", toolCallId: "t", toolName: "read", result: { content: [] }, isError: false },
  ],
  [{ type: "message_end", message: DONE }, { type: "message_end", message: DONE }],
  [
    { type: "turn_end", message: DONE, toolResults: [] },
    { type: "turn_end", turnIndex: 0, message: DONE, toolResults: [] },
    {
      entries: [],
      continue: false,
      outcome: "completed",
      messageEntryId: "e1",
      toolResultEntryIds: [],
      context: {
        contextEntries: [],
        contextMessages: [],
        llmMessages: [],
        pendingMessages: [],
        canContinue: false,
      },
    },
  ],
  [{ type: "turn_start" }, { type: "turn_start", turnIndex: 1 }],
  [{ type: "agent_end", messages: [DONE], willRetry: false }, { type: "agent_end", messages: [DONE] }],
];

for (const api of ["0.52", "0.58", "0.73", "1.5"]) {
  test(`${api}: a run as extensions hear it`, async (t) => {
    const entry = { type: "message", id: "e1", parentId: null, timestamp: "2026-01-01T00:00:00.000Z", message: DONE };
    const server = await started({
      test: t,
      api,
      extensions: [noting(...new Set(RUN.map(([{ type }]) => type)))],
      answers: { entries: { header: { id: "s1" }, entries: [entry], leafId: "e1" } },
    });
    const { hooks, awaits } = server.registered;
    for (const [event] of RUN) {
      if (awaits.includes(event.type)) await server.hook({ type: "event", event });
      else if (hooks.includes(event.type)) await server.hook(event);
      else server.tell({ type: "event", event });
    }
    await server.hook({ type: "event", event: { type: "nothing" } });
    const heard = server.of("append_entry").map(({ data }) => data);
    const context = { contextEntries: [{ sourceEntry: entry, messages: [DONE] }], contextMessages: [DONE], llmMessages: [DONE] };
    const wanted = RUN.map(([, told, later]) => {
      if (api !== "1.5" || !later) return told;
      return { ...told, ...later, context: { ...later.context, ...context } };
    });
    assert.deepEqual(heard, wanted);
  });
}

test("calls and thoughts are put together, too", async (t) => {
  const server = await started({ test: t, api: "0.73", extensions: [noting("message_update")] });
  const call = { type: "toolCall", id: "t", name: "read", arguments: { a: 1 } };
  const steps = [
    { type: "thinking_start", contentIndex: 0 },
    { type: "thinking_delta", contentIndex: 0, delta: "hm" },
    { type: "thinking_end", contentIndex: 0, content: "hm" },
    { type: "toolcall_start", contentIndex: 1 },
    { type: "toolcall_delta", contentIndex: 1, delta: '{"a":' },
    { type: "toolcall_end", contentIndex: 1, toolCall: call },
  ];
  server.tell({ type: "event", event: { type: "message_start", message: ASSISTANT } });
  for (const step of steps) server.tell({ type: "event", event: update(step) });
  await server.hook({ type: "event", event: { type: "nothing" } });
  const last = server.of("append_entry").at(-1).data;
  assert.deepEqual(last.message.content, [{ type: "thinking", thinking: "hm" }, call]);
});

test("events keep their order although handlers take their time, and a call is asked for meanwhile", async (t) => {
  const server = await started({
    test: t,
    extensions: [
      (pi) => {
        let first;
        const waiting = new Promise((resolve) => (first = resolve));
        pi.on("message_update", async (event) => {
          if (event.assistantMessageEvent.delta === "a") await waiting;
          pi.appendEntry("heard", event.assistantMessageEvent.delta);
        });
        pi.on("message_end", () => pi.appendEntry("heard", "end"));
        pi.on("tool_call", () => first());
      },
    ],
  });
  const delta = (it) => ({ type: "event", event: update({ type: "text_delta", contentIndex: 0, delta: it }) });
  server.tell(delta("a"));
  server.tell(delta("b"));
  const ended = server.hook({ type: "message_end", message: DONE });
  await server.hook({ type: "tool_call", toolCallId: "t", toolName: "read", input: {} });
  await ended;
  assert.deepEqual(server.of("append_entry").map(({ data }) => data), ["a", "b", "end"]);
});

test("a compaction that fails is told of as an event of its own, one that succeeds is not", async (t) => {
  const server = await started({ test: t, extensions: [noting("session_compact_failed")] });
  assert.deepEqual(server.registered.events, ["compaction_end"]);
  const end = { type: "compaction_end", reason: "manual", aborted: false, willRetry: false };
  server.tell({ type: "event", event: { ...end, result: { summary: "s" } } });
  server.tell({ type: "event", event: { ...end, errorMessage: "no" } });
  const { data } = await server.hear("append_entry");
  const { reason, aborted, willRetry } = end;
  const wanted = { type: "session_compact_failed", reason, aborted, willRetry, errorMessage: "no", fromExtension: false };
  assert.deepEqual(data, wanted);
});

test("what handlers of turn_end add is the outcome", async (t) => {
  const server = await started({
    test: t,
    extensions: [
      (pi) => pi.on("turn_end", () => ({ entries: [{ type: "custom", customType: "c", data: 1 }], continue: true })),
      (pi) =>
        pi.on("turn_end", (event) => {
          const content = `${event.entries.length} ${event.continue} ${event.outcome}`;
          return { entries: [...event.entries, { type: "custom_message", customType: "n", content, display: false }] };
        }),
    ],
  });
  const outcome = await server.hook({ type: "event", event: { type: "turn_end", message: DONE, toolResults: [] } });
  const message = { customType: "n", content: "1 true completed", display: false };
  assert.deepEqual(outcome, { entries: [{ customType: "c", data: 1 }, { message }], continues: true });
});

test("entries of a kind that is not supported add nothing", async (t) => {
  const extension = (pi) =>
    pi.on("agent_before_settle", () => ({ entries: [{ type: "context_edit", targetId: "x" }], continue: true }));
  const answers = { entries: { header: { id: "s1" }, entries: [], leafId: null } };
  const server = await started({ test: t, extensions: [extension], answers });
  assert.ok(server.registered.hooks.includes("agent_before_settle"));
  assert.equal(await server.hook({ type: "agent_before_settle" }), undefined);
  const [{ event, error }] = server.of("error");
  assert.equal(event, "agent_before_settle");
  assert.match(error, /^Invalid boundary entries: entries of the type context_edit are not supported/);
});

/** What extensions of pi 1.6.0 can register for. */
const EVENTS_OF_PI = `
  project_trust resources_discover session_start session_info_changed session_before_switch session_before_fork session_before_compact
  session_compact session_compact_failed session_shutdown mcp_servers_change session_before_tree session_tree context context_with_system
  cache_warming_decision before_provider_request before_provider_headers after_provider_response provider_stream_event before_agent_start
  agent_start agent_end agent_before_settle agent_settled ui_prompt_start ui_prompt_end turn_start turn_end message_start message_update
  message_end tool_execution_start tool_execution_update tool_execution_end model_select thinking_level_select tool_call tool_result
  user_bash input`.trim().split(/\s+/);

/** Those of them that the Node host makes by itself, or of others. */
const OWN_EVENTS = ["project_trust", "session_compact_failed", "context_with_system", "ui_prompt_start", "ui_prompt_end"];

test("every event of pi is subscribed to", async (t) => {
  assert.equal(EVENTS_OF_PI.length, 41);
  const extension = `export default (pi) => { for (const event of ${JSON.stringify(EVENTS_OF_PI)}) pi.on(event, () => {}); }`;
  const server = await started({ test: t, extensions: [extension] });
  const subscribed = [...server.registered.hooks, ...server.registered.events, ...OWN_EVENTS];
  assert.deepEqual(EVENTS_OF_PI.filter((event) => !subscribed.includes(event)), []);
  assert.deepEqual(server.of("error"), []);
});
