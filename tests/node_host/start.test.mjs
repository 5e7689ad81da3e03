import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { folderWith } from "./loading.mjs";
import { started } from "./server.mjs";

test("what an extension registers is said once, with the hooks of those events alone that it listens to", async (t) => {
  const server = await started({
    test: t,
    api: "0.52",
    extensions: [
      (pi) => {
        pi.registerCommand("greet", { description: "Says hello", handler: async () => {} });
        pi.registerTool({
          name: "add",
          label: "Add",
          description: "Adds",
          parameters: { type: "object", properties: { a: { type: "number" } } },
          execute: async () => ({ content: [] }),
        });
        pi.registerFlag("loud", { type: "boolean", description: "Louder" });
        pi.registerShortcut("ctrl+g", { handler: () => {} });
        pi.on("tool_call", () => {});
        pi.on("turn_start", () => {});
        pi.on("message_update", () => {});
      },
    ],
  });
  const [path] = server.paths;
  assert.deepEqual(server.registered, {
    type: "register",
    commands: [{ name: "greet", description: "Says hello", path }],
    tools: [
      {
        name: "add",
        label: "Add",
        description: "Adds",
        parameters: { type: "object", properties: { a: { type: "number" } } },
        path,
      },
    ],
    hooks: ["tool_call", "event"],
    events: ["turn_start", "message_update", "message_start", "agent_start", "turn_end"],
    awaits: ["turn_start"],
    flags: [{ name: "loud", description: "Louder", path, takesValue: false }],
    shortcuts: ["ctrl+g"],
  });
});

test("the directory that a variable names is entered, and the variable is not passed on", async (t) => {
  const server = await started({
    test: t,
    variables: { PI_RPC_DIRECTORY: "/" },
    extensions: [
      `export default (pi) => pi.registerCommand("c", {
        description: JSON.stringify([process.cwd(), process.env.PI_RPC_DIRECTORY ?? null]), handler() {} });`,
    ],
  });
  assert.equal(server.registered.commands[0].description, '["/",null]');
});

test("where nothing could be loaded, nothing is asked for", async (t) => {
  const server = await started({ test: t, extensions: ["export default 1;"] });
  assert.deepEqual([server.registered.hooks, server.registered.events], [[], []]);
});

test("process.argv has the shape of pi's, with the options of this process", async (t) => {
  const server = await started({
    test: t,
    words: ["--no-session", "-e", "a.ts"],
    extensions: [
      (pi) => {
        const [node, entry, ...options] = process.argv;
        pi.registerCommand("say", {
          handler: async (_, ctx) => ctx.ui.notify(JSON.stringify([node === process.execPath, entry.split("/").at(-1), options, process.execArgv])),
        });
      },
    ],
  });
  await server.ask({ type: "command", name: "say", arguments: "" });
  const [{ request }] = server.of("ui");
  assert.deepEqual(JSON.parse(request.message), [true, "pi", ["--mode", "rpc", "--no-session", "-e", "a.ts"], []]);
});

test("what process.argv names starts another agent", (t) => {
  const folder = folderWith(t, { agent: `#!/bin/sh\necho "$@"\nexit 3\n` });
  chmodSync(join(folder, "agent"), 0o755);
  const pi = new URL("../../crates/extension/src/node/pi", import.meta.url).pathname;
  const env = { ...process.env, PI_RPC_PROGRAM: join(folder, "agent") };
  const { status, stdout } = spawnSync(process.execPath, [pi, "--mode", "json"], { encoding: "utf8", env });
  assert.deepEqual([status, stdout], [3, "--mode json\n"]);
});

test("what a stand-in lacks is told with the name and the extension", async (t) => {
  const server = await started({
    test: t,
    extensions: [
      `import { createAgentSessionRuntime } from "@earendil-works/pi-coding-agent";
       export default (pi) => pi.registerCommand("session", { handler: async () => createAgentSessionRuntime({}) });`,
    ],
  });
  const [path] = server.paths;
  const error = `${path}: createAgentSessionRuntime of pi-coding-agent is not available: pi is not installed where extensions look for it, and its stand-in lacks it.`;
  assert.deepEqual(await server.ask({ type: "command", name: "session", arguments: "" }), { type: "failed", error });
});
