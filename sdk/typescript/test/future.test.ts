import assert from "node:assert/strict";
import { test } from "node:test";
import { CLIENTS } from "./support/clients.js";

/** Frames of a later version: an event, a dialog, members and values that nobody knows, an answer to a command with more in it. */
const LATER = `
  const say = (frame) => process.stdout.write(JSON.stringify(frame) + "\\n");
  say({ type: "ready", of_tomorrow: 1 });
  require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
    const { id, type } = JSON.parse(line);
    if (type === "abort") {
      say({ type: "of_tomorrow", level: 7 });
      say({ type: "extension_ui_request", id: "d", method: "hologram", title: "T" });
      say({ type: "agent_start", mood: "calm" });
      say({ type: "message_update", message: { role: "oracle", content: [{ type: "scent" }] }, assistantMessageEvent: { type: "scent_delta" } });
      say({ type: "agent_end", messages: [], mood: "calm" });
    }
    const data = type === "get_state" ? { isStreaming: false, isCompacting: false, thinkingLevel: "boundless", mood: "calm" } : undefined;
    say({ id, type: "response", command: type, success: true, took: 3, data });
  });
`;

for (const [dialect, spawn] of CLIENTS) {
  test(`${dialect}: frames of a later version stop nothing`, async (t) => {
    const client = await spawn({ command: [process.execPath, "--eval", LATER] });
    t.after(() => client.close({ graceMs: 0 }));
    const events = client.events();
    await client.request("abort", {});
    await client.close();
    const heard = [];
    for await (const event of events) heard.push(event.type);
    // Only some dialects know the first frame.
    assert.deepEqual(heard.slice(-5), ["unknown", "unknown", "agent_start", "message_update", "agent_end"]);
  });
}
