// The test extension for servers that load pi's TypeScript extensions: the same commands, tool and hooks as
// examples/extensions/ui_check.py, so that scenarios find the same with either.

import { existsSync } from "node:fs";

type Answer = string | boolean | undefined;

/** Where the user is asked: the last argument that has a user interface; its place differs between releases. */
function withUi(candidates: any[]): any {
  return candidates.find((candidate) => candidate !== null && typeof candidate === "object" && "ui" in candidate);
}

function tell(ui: any, what: string, value: unknown): void {
  const shown = value === undefined ? "undefined" : JSON.stringify(value);
  ui.notify(`${what}=${shown}`, "info");
}

async function dialog(ui: any, words: string[]): Promise<Answer> {
  const [kind, milliseconds] = words;
  const options = milliseconds === undefined ? undefined : { timeout: Number(milliseconds) };
  switch (kind) {
    case "select":
      return ui.select("Pick one", ["alpha", "beta"], options);
    case "confirm":
      return ui.confirm("Sure?", "Really do it?", options);
    case "input":
      return ui.input("Name?", "type here", options);
    case "editor":
      return ui.editor("Edit", "line1\nline2");
    default:
      return `no kind: ${words.join(" ")}`;
  }
}

function fire(context: any): void {
  const { ui } = context;
  ui.notify("plain");
  ui.notify("w", "warning");
  ui.notify("e", "error");
  ui.setStatus("k", "busy");
  ui.setStatus("k", undefined);
  ui.setWidget("wid", ["l1", "l2"]);
  ui.setWidget("wid", ["b"], { placement: "belowEditor" });
  ui.setWidget("wid", undefined);
  ui.setTitle("the title");
  ui.setEditorText("draft");
}

export default function (pi: any): void {
  pi.registerCommand("dlg", {
    description: "dialogs",
    handler: async (given: string | string[], context: any) => {
      const words = (Array.isArray(given) ? given : String(given ?? "").split(/\s+/)).filter((word) => word !== "");
      tell(context.ui, words[0] ?? "", await dialog(context.ui, words));
    },
  });
  pi.registerCommand("fire", {
    description: "everything that wants no answer",
    handler: async (_given: unknown, context: any) => fire(context),
  });
  pi.registerCommand("boom", {
    description: "fails",
    handler: async () => {
      throw new Error("boom happened");
    },
  });
  pi.registerCommand("usermsg", {
    description: "says something for the user",
    handler: async () => pi.sendUserMessage("from the extension"),
  });
  pi.events?.on("shout", () => {
    throw new Error("nobody may shout");
  });
  pi.registerCommand("shout", {
    description: "emits an event whose handler fails",
    handler: async (_given: unknown, context: any) => {
      pi.events.emit("shout", {});
      // The handler may be called later.
      await new Promise((resolve) => setTimeout(resolve, 0));
      tell(context.ui, "shouted", true);
    },
  });
  pi.registerCommand("killed", {
    description: "runs a command that a signal ends",
    handler: async (_given: unknown, context: any) => {
      const { code } = await pi.exec("sh", ["-c", "kill -TERM $$"]);
      tell(context.ui, "killed", code);
    },
  });
  pi.registerCommand("bye", {
    description: "asks the server to end",
    handler: async (_given: unknown, context: any) => context.shutdown(),
  });
  pi.registerTool({
    name: "asker",
    label: "Asker",
    description: "Asks the user.",
    parameters: { type: "object", properties: { q: { type: "string" } }, required: ["q"] },
    execute: async (_call: string, given: { q: string }, ...rest: any[]) => {
      const agreed = await withUi(rest).ui.confirm("Tool asks", given.q);
      return { content: [{ type: "text", text: `user said ${agreed}` }], details: { ok: agreed } };
    },
  });
  if (existsSync("has-relay")) {
    pi.registerTool({
      name: "relay",
      label: "Relay",
      description: "Calls another tool.",
      parameters: { type: "object", properties: { tool: { type: "string" }, arguments: { type: "object" } }, required: ["tool"] },
      execute: async (_call: string, given: any, _signal: unknown, _update: unknown, context: any) => {
        const { result, isError } = await context.executeTool(given.tool, given.arguments ?? {});
        return { content: result.content, details: {}, isError };
      },
    });
  }
  pi.on("tool_call", async (call: any, context: any) => {
    const command = call.toolName === "bash" ? String(call.input?.command) : "";
    if (command.includes("forbidden")) return { block: true, reason: "blocked by test extension" };
    const asks = command.includes("asked first");
    const blocks = asks && !(await context.ui.confirm("May it run?", command));
    return blocks ? { block: true, reason: "not agreed" } : undefined;
  });
  if (existsSync("says-start")) {
    pi.on("session_start", async (event: any, context: any) => {
      pi.appendEntry("started", { reason: event.reason });
      context.ui.notify(`session_start ${event.reason}`, "info");
    });
  }
  pi.on("input", async (input: any) => {
    if (String(input.text ?? "").startsWith("!!boom")) throw new Error("input handler boom");
  });
}
