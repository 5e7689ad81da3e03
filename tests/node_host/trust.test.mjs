/** What extensions say of a project before it is read, and what they are told of it afterwards. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { started } from "./server.mjs";

const ask = (server) => server.ask({ type: "hook", hook: { type: "project_trust", cwd: "/w" } });

test("the first yes or no decides, and errors are reported", async (test) => {
  const extensions = [
    `export default (pi) => {
      pi.on("project_trust", () => { throw new Error("broken"); });
      pi.on("project_trust", () => undefined);
      pi.on("project_trust", () => ({ trusted: "undecided" }));
    };`,
    `export default (pi) => pi.on("project_trust", async (event, ctx) => {
      const asked = [await ctx.ui.confirm("?", "?"), await ctx.ui.select("?", ["a"]), await ctx.ui.input("?")];
      const { ui, ...rest } = ctx;
      ctx.ui.notify(JSON.stringify({ event, rest, asked, ui: Object.keys(ui) }));
      return { trusted: "yes", remember: true };
    });`,
    `export default (pi) => pi.on("project_trust", () => ({ trusted: "no" }));`,
  ];
  const server = await started({ test, extensions });
  const { type, result } = await ask(server);
  assert.deepEqual({ type, result }, { type: "done", result: { trusted: true, remember: true, path: server.paths[1] } });
  const errors = [await server.hear("error"), await server.hear("error")];
  assert.deepEqual(errors.map(({ extensionPath, event }) => [extensionPath, event]), [
    [server.paths[0], "project_trust"],
    [server.paths[0], "project_trust"],
  ]);
  server.end();
  await server.ended;
  assert.deepEqual(JSON.parse(server.remarks.trim().split("\n").at(-1)), {
    event: { type: "project_trust", cwd: "/w" },
    rest: { cwd: "/w", mode: "rpc", hasUI: false },
    asked: [false, null, null],
    ui: ["select", "confirm", "input", "notify"],
  });
});

test("whatever is neither yes nor undecided refuses", async (test) => {
  const server = await started({ test, extensions: [`export default (pi) => pi.on("project_trust", () => ({ trusted: true }));`] });
  const { result } = await ask(server);
  assert.deepEqual(result, { trusted: false, remember: false, path: server.paths[0] });
});

test("nobody decides without a handler", async (test) => {
  const server = await started({ test, extensions: ["export default () => {};"] });
  assert.equal((await ask(server)).result, undefined);
});

test("ctx tells whether the project is trusted", async (test) => {
  for (const trusted of [true, false]) {
    const extension = `export default (pi) => pi.registerCommand("ask", { handler: (_, ctx) => ctx.ui.notify(String(ctx.isProjectTrusted())) });`;
    const server = await started({ test, trusted, extensions: [extension] });
    server.tell({ type: "command", id: "c", name: "ask", arguments: "", path: server.paths[0] });
    const { request } = await server.hear("ui");
    assert.equal(request.message, String(trusted));
  }
});
