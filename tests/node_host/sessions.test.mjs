/** Sessions come and go: what extensions of each version hear of it, and what becomes of them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { started } from "./server.mjs";

const NOTING = (pi) => {
  pi.appendLater = () => pi.appendEntry("alive");
  for (const event of ["session_start", "session_shutdown", "session_switch", "session_fork"]) {
    pi.on(event, (it) => pi.appendEntry("heard", it));
  }
};

const CHANGES = [
  { type: "session_start", reason: "startup" },
  { type: "session_shutdown", reason: "new", targetSessionFile: "/b" },
  { type: "session_start", reason: "new", previousSessionFile: "/a" },
  { type: "session_shutdown", reason: "resume", targetSessionFile: "/c" },
  { type: "session_start", reason: "resume", previousSessionFile: "/b" },
  { type: "session_shutdown", reason: "fork" },
  { type: "session_start", reason: "fork", previousSessionFile: "/c" },
  { type: "session_shutdown", reason: "quit" },
];

const OLD = [
  { type: "session_start" },
  { type: "session_switch", reason: "new", previousSessionFile: "/a" },
  { type: "session_switch", reason: "resume", previousSessionFile: "/b" },
  { type: "session_fork", previousSessionFile: "/c" },
  { type: "session_shutdown" },
];

for (const [api, wanted] of [["0.52", OLD], ["0.58", OLD], ["0.73", CHANGES], ["1.5", CHANGES]]) {
  test(`${api}: changes of the session as extensions hear them`, async (t) => {
    const server = await started({ test: t, api, extensions: [NOTING] });
    for (const change of CHANGES) await server.hook(change);
    assert.deepEqual(server.of("append_entry").map(({ data }) => data), wanted);
    assert.deepEqual(server.of("error"), []);
  });
}

/** Counts how often its module and its factory ran, and keeps the first `pi` and `ctx`. */
const COUNTING = `
  let made = 0;
  globalThis.modules = (globalThis.modules ?? 0) + 1;
  export default function (pi) {
    made += 1;
    globalThis.first ??= pi;
    pi.registerCommand("n" + globalThis.modules + "-" + made, {
      handler: async (_, ctx) => {
        globalThis.ctx = ctx;
        await ctx.newSession({ withSession: async (next) => next.ui.notify("in the next") });
      },
    });
    pi.on("input", () => globalThis.first.appendEntry("alive"));
    pi.on("model_select", () => void globalThis.ctx.cwd);
  }`;

for (const [api, names] of [
  ["0.58", ["n1-1", "n1-1"]],
  ["0.73", ["n1-1", "n2-1"]],
  ["1.5", ["n1-1", "n1-2"]],
]) {
  test(`${api}: a new session has ${names[0] === names[1] ? "the same extensions" : "new instances of the extensions"}`, async (t) => {
    const server = await started({
      test: t,
      api,
      extensions: [COUNTING],
      answers: {
        new_session: ({ id }) => {
          change(server).then(() => server.tell({ type: "response", id, success: true, data: { cancelled: false } }));
        },
      },
    });
    const fresh = names[0] === names[1] ? undefined : server.hear("register");
    assert.deepEqual(server.registered.commands.map(({ name }) => name), [names[0]]);
    assert.deepEqual(await server.ask({ type: "command", name: names[0], arguments: "" }), { type: "done" });
    if (fresh) assert.deepEqual((await fresh).commands.map(({ name }) => name), [names[1]]);
    assert.deepEqual(server.of("ui").map(({ request }) => request.message), ["in the next"]);

    await server.hook({ type: "input", text: "x", source: "rpc" });
    await server.hook({ type: "model_select", model: {}, source: "set" });
    const stale = server.of("error").map(({ event, error }) => [event, error.split(":")[0]]);
    const told = "this pi or ctx is stale";
    assert.deepEqual(stale, fresh ? [["input", told], ["model_select", told]] : []);
    assert.equal(server.of("append_entry").length, fresh ? 0 : 1);
  });
}

async function change(server) {
  await server.hook({ type: "session_shutdown", reason: "new" });
  await server.hook({ type: "session_start", reason: "new" });
}

/** Loads once in a process; then its factory throws. */
const LOADS_ONCE = (guard) => `
  export default function (pi) {
    if (globalThis.loads) throw new Error("no more");
    globalThis.loads = 1;
    ${guard}
  }`;
const CALL = { type: "tool_call", toolCallId: "c", toolName: "write", input: {} };

for (const api of ["0.73", "1.5"]) {
  test(`${api}: a guard that a new session cannot load again blocks tools`, async (t) => {
    const server = await started({ test: t, api, extensions: [LOADS_ONCE(`pi.on("tool_call", () => undefined);`)] });
    assert.equal(await server.hook(CALL), undefined);
    for (let session = 1; session < 3; session += 1) {
      await change(server);
      const error = `${server.paths[0]} could not be loaded again, and it might have blocked this`;
      assert.deepEqual(await server.hook(CALL), { type: "failed", error });
      assert.deepEqual(server.of("error").map((it) => it.error), Array(session).fill("Failed to load extension: no more"));
    }
  });
}

test("a reload that fails leaves no tool unguarded", async (t) => {
  const guard = `pi.on("tool_call", () => undefined); pi.registerCommand("reload", { handler: (_, ctx) => ctx.reload() });`;
  const server = await started({ test: t, extensions: [LOADS_ONCE(guard)] });
  await server.ask({ type: "command", name: "reload", arguments: "" });
  assert.equal((await server.hook(CALL)).type, "failed");
});

test("what guarded nothing blocks nothing once it cannot be loaded", async (t) => {
  const server = await started({ test: t, extensions: [LOADS_ONCE(`pi.on("input", () => undefined);`)] });
  await change(server);
  assert.equal(await server.hook(CALL), undefined);
});

test("what an earlier process had loaded blocks tools if this one cannot load it", async (t) => {
  const extensions = [() => {
    throw new Error("no more");
  }];
  const outcome = async (loaded) => {
    const server = await started({ test: t, extensions, loaded });
    return [server.registered.hooks.includes("tool_call"), (await server.hook(CALL))?.type];
  };
  assert.deepEqual([await outcome(true), await outcome(undefined)], [[true, "failed"], [false, undefined]]);
});

test("a reload reads the modules again", async (t) => {
  const extension = `
    globalThis.modules = (globalThis.modules ?? 0) + 1;
    export default function (pi) {
      const count = globalThis.modules;
      pi.on("session_start", ({ reason }) => pi.appendEntry("heard", [reason, count]));
      pi.on("session_shutdown", ({ reason }) => pi.appendEntry("heard", [reason, count]));
      pi.registerCommand("reload", { handler: (_, ctx) => ctx.reload() });
    }`;
  const server = await started({ test: t, extensions: [extension] });
  assert.deepEqual(await server.ask({ type: "command", name: "reload", arguments: "" }), { type: "done" });
  assert.deepEqual(server.of("append_entry").map(({ data }) => data), [["reload", 1], ["reload", 2]]);
});

test("a session begins with what setup has written; it may be refused", async (t) => {
  const server = await started({
    test: t,
    extensions: [
      (pi) =>
        pi.registerCommand("new", {
          handler: async (_, ctx) => {
            const result = await ctx.newSession({
              parentSession: ctx.sessionManager.getSessionFile(),
              setup: async (session) => {
                session.appendMessage({ role: "user", content: session.getSessionFile(), timestamp: 1 });
              },
              withSession: async () => pi.appendEntry("never"),
            });
            ctx.ui.notify(JSON.stringify(result));
          },
        }),
    ],
    answers: {
      state: { isIdle: true, sessionId: "s1", sessionFile: "/a", hasPendingMessages: false, entryCount: 0, activeTools: [] },
      new_session: () => ({ data: { cancelled: true } }),
    },
  });
  await server.ask({ type: "command", name: "new", arguments: "" });
  const [{ parentSession, entries }] = server.of("new_session");
  assert.deepEqual([parentSession, entries], ["/a", [{ role: "user", content: "/a", timestamp: 1 }]]);
  assert.deepEqual(server.of("ui")[0].request.message, '{"cancelled":true}');
  assert.deepEqual(server.of("append_entry"), []);
});

test("forks and other sessions are asked for, and errors of the server are those of the caller", async (t) => {
  const server = await started({
    test: t,
    extensions: [
      (pi) => {
        pi.registerCommand("fork", { handler: async (_, ctx) => void (await ctx.fork("e", { position: "at" })) });
        pi.registerCommand("go", { handler: async (_, ctx) => void (await ctx.switchSession("/b")) });
      },
    ],
    answers: { fork: () => ({ data: { cancelled: true } }), switch_session: () => ({ success: false, error: "no file" }) },
  });
  assert.deepEqual(await server.ask({ type: "command", name: "fork", arguments: "" }), { type: "done" });
  const [{ id, ...fork }] = server.of("fork");
  assert.deepEqual(fork, { type: "fork", origin: "r1", entryId: "e", position: "at" });
  assert.deepEqual(await server.ask({ type: "command", name: "go", arguments: "" }), { type: "failed", error: "no file" });
});
