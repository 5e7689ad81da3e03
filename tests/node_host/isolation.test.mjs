/** Whatever an extension does, the others and the server go on. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { started } from "./server.mjs";

test("what extensions print goes to stderr", async (t) => {
  const server = await started({
    test: t,
    extensions: [
      () => {
        console.log("one");
        console.table([1]);
        process.stdout.write("two\n");
      },
    ],
  });
  await server.hook({ type: "session_start", reason: "startup" });
  assert.match(server.remarks, /one[^]*two/);
});

test("an error that nobody catches is told of, with whose it is, and ends nothing", async (t) => {
  const late = (pi) =>
    pi.on("session_start", () => {
      Promise.reject(new Error("rejected"));
      setTimeout(() => {
        throw new Error("thrown");
      });
    });
  const server = await started({ test: t, extensions: [() => {}, late] });
  await server.hook({ type: "session_start", reason: "startup" });
  const errors = [await server.hear("error"), await server.hear("error")];
  const error = (it) => ({ type: "error", extensionPath: server.paths[1], event: "unhandled", error: it });
  assert.deepEqual(errors, [error("rejected"), error("thrown")]);
  assert.equal(await server.hook({ type: "session_start", reason: "startup" }), undefined);
});

test("a hook that never ends is cut short when it is cancelled, and others are answered meanwhile", async (t) => {
  const server = await started({
    test: t,
    extensions: [
      (pi) => {
        pi.on("input", () => new Promise(() => {}));
        pi.on("user_bash", () => ({ result: { output: "", cancelled: false, truncated: false } }));
      },
    ],
  });
  const hanging = server.hook({ type: "input", text: "x", source: "rpc" });
  const other = await server.hook({ type: "user_bash", command: "x", excludeFromContext: false, cwd: "/" });
  assert.deepEqual(other, { bash: { output: "", cancelled: false, truncated: false } });
  server.tell({ type: "cancel", id: "r1" });
  assert.deepEqual(await hanging, { type: "failed", error: "the request was cancelled" });
});

test("what is done long after a request still belongs to it", async (t) => {
  const server = await started({
    test: t,
    extensions: [
      (pi) =>
        pi.registerCommand("later", {
          handler: async (_, ctx) => void setTimeout(() => ctx.ui.notify("late"), 5),
        }),
    ],
  });
  await server.ask({ type: "command", name: "later", arguments: "" });
  const { origin, request } = await server.hear("ui");
  assert.deepEqual([origin, request.message], ["r1", "late"]);
});

test("frames of all sizes arrive whole, in both directions", async (t) => {
  const server = await started({
    test: t,
    extensions: [(pi) => pi.on("input", ({ text }) => ({ action: "transform", text: `${text}${pi.getSessionName()}` }))],
    answers: { state: { sessionName: "ü".repeat(300_000) } },
  });
  const { text } = await server.hook({ type: "input", text: "é".repeat(200_000), source: "rpc" });
  assert.equal(text, "é".repeat(200_000) + "ü".repeat(300_000));
});

test("the end of the input is the end of the host, whatever still goes on", async (t) => {
  const server = await started({ test: t, extensions: [() => void setInterval(() => {}, 1000)] });
  server.process.stdin.end();
  assert.equal(await server.ended, 0);
});
