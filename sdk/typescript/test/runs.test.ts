import assert from "node:assert/strict";
import { test } from "node:test";
import { Flow } from "../src/flow.js";
import { Runs, type Busy } from "../src/runs.js";
import type { Frame, Tables } from "../src/tables.js";

const TABLES: Tables = {
  dialect: "test",
  saysReady: false,
  serial: false,
  control: [],
  frameLimits: null,
  idle: "idle",
  events: [],
  dialogs: {},
  zeroTimeoutExpires: false,
  settles: false,
  commands: ["prompt"],
  outcomes: {
    prompt: [
      { in: ["starting", "run.open"], outcomes: [{ disposition: "reject", refusal: "busy" }] },
      { outcomes: [{ disposition: "run" }] },
    ],
  },
  session: {
    members: {},
    commands: {},
    events: {},
    tells: {},
    streaming: {},
    compacting: [],
    levels: { all: [], extra: [], withoutThinking: null, followsModel: false },
    cleansName: "nothing",
  },
  steps: [
    { from: "idle", to: "starting", on: [{ type: "response", where: { command: "prompt", success: true } }] },
    { from: "idle", to: "run.open", on: [{ type: "begin" }] },
    { from: "starting", to: "run.open", on: [{ type: "begin" }] },
    { from: "run.open", to: "run.said", on: [{ type: "message", where: { role: "assistant" } }] },
    { from: "run.said", to: "idle", on: [{ type: "end" }] },
    { from: "idle", to: "compacting", on: [{ type: "compact" }] },
    { from: "compacting", to: "idle", on: [{ type: "compacted" }] },
  ],
};

const TAKEN = { type: "response", command: "prompt", success: true };

/** A session that tells of itself what `busy` has, and how often it was asked. */
function session(busy: Busy, tables = TABLES): { flow: Flow; runs: Runs; asked: () => number; see: (event: Frame) => void } {
  const flow = new Flow(tables);
  let asked = 0;
  const rest = (): void => flow.rest();
  const runs = new Runs(flow, rest, async () => ((asked += 1), { ...busy }));
  const see = (event: Frame): void => {
    const { changes } = flow;
    flow.see(event);
    runs.see(event, changes);
  };
  return { flow, runs, asked: () => asked, see };
}

/** Lets everything happen that waits for nothing. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
}

/** Whether a promise is fulfilled by now. */
async function isOver(promise: Promise<void>): Promise<boolean> {
  let isOver = false;
  void promise.then(() => (isOver = true));
  await settle();
  return isOver;
}

test("the state follows the steps, and what is out of place is believed where it opens something or goes on with it", () => {
  const { flow } = session({ isStreaming: false, isCompacting: false });
  const states = [
    { type: "nothing" },
    { type: "message", message: { role: "assistant" } },
    TAKEN,
    { type: "begin" },
    { type: "message", message: { role: "user" } },
    { type: "end" },
    { type: "begin" },
    { type: "message", message: { role: "assistant" } },
    { type: "end" },
    { type: "compact" },
    { type: "begin" },
  ].map((frame) => (flow.see(frame), flow.state));
  const [none, stray, begun] = ["idle", "idle", "run.open"];
  const out = ["starting", begun, begun, "idle", begun, "run.said", "idle", "compacting", begun];
  assert.deepEqual(states, [none, stray, ...out]);
});

test("a command is refused where the table says so, unless it is only expected that a run comes", () => {
  const { flow } = session({ isStreaming: false, isCompacting: false });
  const refusals = [{ type: "nothing" }, TAKEN, { type: "begin" }].map((frame) => {
    flow.see(frame);
    return flow.refusal("prompt", { type: "prompt" });
  });
  assert.deepEqual(refusals, [undefined, undefined, "busy"]);
});

test("a run is over when the server is idle and says so", async (t) => {
  const busy = { isStreaming: true, isCompacting: false };
  const { flow, runs, asked } = session(busy);
  t.mock.timers.enable({ apis: ["setTimeout"] });
  flow.see({ type: "begin" });
  const settled = runs.settled(new AbortController().signal);
  assert(!(await isOver(settled)));
  flow.see({ type: "end" });
  assert(!(await isOver(settled)));
  busy.isStreaming = false;
  t.mock.timers.tick(50);
  assert(await isOver(settled));
  assert.equal(asked(), 2);
});

test("a run that begins while the server is asked is waited for", async () => {
  const { flow, runs } = session({ isStreaming: false, isCompacting: false });
  const settled = runs.settled(new AbortController().signal);
  flow.see({ type: "begin" });
  assert(!(await isOver(settled)));
  flow.see({ type: "message", message: { role: "assistant" } });
  flow.see({ type: "end" });
  assert(await isOver(settled));
});

for (const [willRetry, ms] of [[false, 250], [true, 2000]] as const) {
  test(`what follows a compaction is waited for: ${ms} ms`, async (t) => {
    const { flow, runs, see } = session({ isStreaming: false, isCompacting: false });
    t.mock.timers.enable({ apis: ["setTimeout", "Date"] });
    flow.see({ type: "compact" });
    see({ type: "compacted", willRetry });
    const settled = runs.settled(new AbortController().signal);
    for (let waited = 0; waited < ms; waited += 50) {
      assert(!(await isOver(settled)), `${waited} ms`);
      t.mock.timers.tick(50);
    }
    assert(await isOver(settled));
  });
}

test("where the server says when it has settled, nothing is waited for behind that", async () => {
  const { flow, runs, see } = session({ isStreaming: false, isCompacting: false }, { ...TABLES, settles: true });
  flow.see({ type: "compact" });
  see({ type: "compacted", willRetry: true });
  assert(await isOver(runs.settled(new AbortController().signal)));
});

test("a run that begins long after its prompt was taken is waited for", async (t) => {
  const { flow, runs } = session({ isStreaming: false, isCompacting: false });
  t.mock.timers.enable({ apis: ["setTimeout"] });
  flow.see(TAKEN);
  const settled = runs.settled(new AbortController().signal);
  assert(!(await isOver(settled)));
  t.mock.timers.tick(5000);
  assert(!(await isOver(settled)));
  flow.see({ type: "begin" });
  t.mock.timers.tick(60_000);
  assert(!(await isOver(settled)));
  flow.see({ type: "message", message: { role: "assistant" } });
  flow.see({ type: "end" });
  assert(await isOver(settled));
});

test("a prompt that an extension keeps to itself is over when nothing has come of it for long", async (t) => {
  const { flow, runs } = session({ isStreaming: false, isCompacting: false });
  t.mock.timers.enable({ apis: ["setTimeout"] });
  flow.see(TAKEN);
  const settled = runs.settled(new AbortController().signal);
  t.mock.timers.tick(9999);
  assert(!(await isOver(settled)));
  t.mock.timers.tick(1);
  assert(await isOver(settled));
  assert.equal(flow.state, "idle");
});

test("a prompt has the messages since it was sent, and the text of the last answer", async () => {
  const { runs, see } = session({ isStreaming: false, isCompacting: false });
  see({ type: "message_end", message: { role: "user" } });
  const { messages } = runs.begin("1");
  see({ type: "message_end", message: { role: "assistant", content: [] } });
  runs.end("1");
  see({ type: "message_end", message: { role: "user" } });
  assert.deepEqual(messages, [{ role: "assistant", content: [] }]);
});
