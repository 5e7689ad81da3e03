import assert from "node:assert/strict";
import { test } from "node:test";
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
