import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { PiSessionState } from "../src/generated/pi.session.js";
import { Pi1SessionState } from "../src/generated/pi-1.session.js";
import { PI_RPC } from "./support/clients.js";

const GUIDE = join(process.env["PI_RPC_CONVERSATIONS"] ?? "../conversations", "../typescript/GUIDE.md");
const STATE = { steeringMode: "all", followUpMode: "all", sessionId: "s", autoCompactionEnabled: true };

type Session = PiSessionState | Pi1SessionState;

function success(session: Session, id: string, command: string, data?: object | null): void {
  session.received({ type: "response", id, command, success: true, data });
}

/** A command and its success. */
function call(session: Session, type: string, fields: object = {}, data?: object | null): void {
  session.sent({ ...fields, id: "1", type });
  success(session, "1", type, data);
}

function says(session: Session, role: string, text: string): void {
  const message = { role, content: [{ type: "text", text }] };
  session.received({ type: "message_start", message });
  session.received({ type: "message_end", message });
}

test("what is not known is absent, and what has no value is null", () => {
  const session = new PiSessionState();
  assert.equal(session.getSnapshot().steeringMode, undefined);
  assert.equal(session.getSnapshot().steering, undefined);
  call(session, "get_state", {}, STATE);
  const { steeringMode, model, steering } = session.getSnapshot();
  assert.deepEqual([steeringMode, model, steering], ["all", null, undefined]);
  assert.deepEqual(new PiSessionState({ fresh: true }).getSnapshot().steering, []);
});

test("what has not changed is the same object, and nobody is told", () => {
  const session = new PiSessionState();
  const model = { provider: "p", id: "m", reasoning: false };
  call(session, "get_state", {}, { ...STATE, model });
  const before = session.getSnapshot();
  let told = 0;
  const end = session.subscribe(() => (told += 1));
  call(session, "get_state", {}, { ...STATE, model: { ...model } });
  assert.equal(session.getSnapshot(), before);
  call(session, "set_steering_mode", { mode: "one-at-a-time" });
  assert.notEqual(session.getSnapshot(), before);
  assert.equal(session.getSnapshot().model, before.model);
  assert.equal(told, 1);
  end();
  call(session, "set_steering_mode", { mode: "all" });
  assert.equal(told, 1);
});

test("a read that was asked for before a change tells nothing of it", () => {
  const session = new PiSessionState();
  session.sent({ type: "get_state", id: "read" });
  call(session, "set_steering_mode", { mode: "one-at-a-time" });
  success(session, "read", "get_state", STATE);
  assert.equal(session.getSnapshot().steeringMode, "one-at-a-time");
  assert.equal(session.getSnapshot().followUpMode, "all");
});

test("of two commands at once that set the same, neither is known to be last", () => {
  const session = new PiSessionState();
  session.sent({ type: "set_steering_mode", id: "a", mode: "all" });
  session.sent({ type: "set_steering_mode", id: "b", mode: "one-at-a-time" });
  success(session, "a", "set_steering_mode");
  success(session, "b", "set_steering_mode");
  assert.equal(session.getSnapshot().steeringMode, undefined);
});

test("a command that fails changes nothing", () => {
  const session = new PiSessionState();
  call(session, "set_steering_mode", { mode: "all" });
  session.sent({ type: "set_steering_mode", id: "2", mode: "one-at-a-time" });
  session.received({ type: "response", id: "2", command: "set_steering_mode", success: false, error: "no" });
  assert.equal(session.getSnapshot().steeringMode, "all");
});

test("what waits is there until it is delivered, and unsure where a prompt says the same", () => {
  const session = new PiSessionState({ fresh: true });
  session.received({ type: "agent_start" });
  call(session, "steer", { message: "left" });
  call(session, "follow_up", { message: "stop" });
  assert.deepEqual([session.getSnapshot().steering, session.getSnapshot().followUp], [["left"], ["stop"]]);
  says(session, "user", "left");
  assert.deepEqual([session.getSnapshot().steering, session.getSnapshot().followUp], [[], ["stop"]]);
  const other = new PiSessionState({ fresh: true });
  call(other, "steer", { message: "go" });
  call(other, "prompt", { message: "go" });
  says(other, "user", "go");
  assert.equal(other.getSnapshot().steering, undefined);
});

test("messages grow by events, and one that a read told already is not there twice", () => {
  const session = new PiSessionState();
  const first = { role: "user", content: [{ type: "text", text: "a" }] };
  call(session, "get_messages", {}, { messages: [first] });
  session.received({ type: "message_end", message: { ...first } });
  says(session, "user", "b");
  assert.equal(session.getSnapshot().messages?.length, 2);
  call(session, "bash", { command: "true" }, { output: "", exitCode: 0 });
  assert.equal(session.getSnapshot().messages, undefined);
});

test("a read of a part tells no whole", () => {
  const session = new Pi1SessionState();
  call(session, "get_entries", { since: "e" }, { entries: [], leafId: null });
  assert.equal(session.getSnapshot().entries, undefined);
  call(session, "get_entries", {}, { entries: [], leafId: null });
  assert.deepEqual(session.getSnapshot().entries, []);
});

test("a dialog is open until it is answered or called off", () => {
  const session = new PiSessionState();
  const ask = { type: "extension_ui_request", method: "confirm", title: "Sure?", message: "" };
  session.received({ ...ask, id: "a" });
  session.received({ ...ask, id: "b" });
  session.received({ type: "extension_ui_request", id: "n", method: "notify", message: "Look" });
  session.sent({ type: "extension_ui_response", id: "a", confirmed: true });
  assert.deepEqual(session.getSnapshot().dialogs.map(({ id }) => id), ["b"]);
});

test("whether a command may be sent is the server's word, and the same object each time", () => {
  const session = new PiSessionState();
  assert.deepEqual(session.may("prompt", { message: "a" }), { allowed: true, disposition: "run", reason: undefined });
  session.received({ type: "agent_start" });
  const refused = session.may("prompt", { message: "a" });
  assert(!refused.allowed && refused.reason?.includes("already processing"));
  assert.equal(session.may("prompt", { message: "b" }), refused);
  assert.equal(session.may("prompt", { message: "a", streamingBehavior: "steer" }).disposition, "queue");
  const { allowed, reason } = session.may("set_todos" as never, {} as never);
  assert.deepEqual([allowed, reason], [false, "pi has no command set_todos"]);
});

test("nothing is known when something was missed", () => {
  const session = new PiSessionState({ fresh: true });
  call(session, "get_state", {}, STATE);
  session.lost();
  const { steeringMode, steering, state } = session.getSnapshot();
  assert.deepEqual([steeringMode, steering, state], [undefined, undefined, "idle"]);
});

test("the program of the guide that shows the state runs", () => {
  const program = readFileSync(GUIDE, "utf8").split("```js\n")[1]?.split("```")[0] ?? "";
  const source = program.replace("pi-rpc-client/pi", new URL("../src/generated/pi.js", import.meta.url).href);
  const home = mkdtempSync(join(tmpdir(), "guide-"));
  try {
    symlinkSync(PI_RPC, join(home, "pi-rpc"));
    const env = { HOME: home, PATH: `${home}:${process.env["PATH"] ?? ""}` };
    const options = { cwd: home, env, encoding: "utf8", timeout: 60_000 } as const;
    const said = execFileSync(process.execPath, ["--input-type=module", "--eval", source], options);
    assert.match(said, /^run\n[^]*\d messages\n[^]*all\n$/);
  } finally {
    rmSync(home, { recursive: true });
  }
});
