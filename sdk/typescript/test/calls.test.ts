import assert from "node:assert/strict";
import { test } from "node:test";
import { Calls } from "../src/calls.js";
import type { Frame, Tables } from "../src/tables.js";

const ERROR = { type: "response", success: false, error: "no" };

function calls(serial: boolean, ...commands: string[]): Calls {
  const calls = new Calls({ serial, control: ["abort"] } as Partial<Tables> as Tables);
  for (const command of commands) calls.begin(command);
  return calls;
}

/** The commands that are answered with that frame, one after another, while there are any. */
function answered(calls: Calls, frame: Frame): string[] {
  const call = calls.answer(frame);
  return call === undefined ? [] : [call.command, ...answered(calls, frame)];
}

test("a response is that of the call with its id", () => {
  const open = calls(false, "bash", "compact");
  assert.equal(open.answer({ type: "response", id: "c1", success: true })?.command, "bash");
  assert.equal(open.answer({ type: "response", id: "c1", success: true }), undefined);
});

test("an id that is no string is that of no call", () => {
  for (const id of [["c1"], { c1: 1 }, 1, null, true]) {
    const open = calls(false, "bash");
    assert.equal(open.answer({ ...ERROR, id, command: "bash" }), undefined, JSON.stringify(id));
    assert(!open.isLate({ ...ERROR, id }));
  }
});

test("an error without id is the newest call's that is not slow, of a server that answers as it likes", () => {
  const open = calls(false, "compact", "set_model", "prompt", "bash", "get_state");
  const order = ["set_model", "compact", "get_state", "bash", "prompt"];
  assert.deepEqual(answered(open, { ...ERROR, command: "parse" }), order);
});

test("an error without id is the oldest call's, of a server that answers in order, and of one that does not wait last", () => {
  const open = calls(true, "abort", "bash", "compact");
  assert.deepEqual(answered(open, { ...ERROR, command: "parse" }), ["bash", "compact", "abort"]);
});

test("an error without id that names a command is not another's", () => {
  const open = calls(false, "compact", "bash", "compact");
  assert.deepEqual(answered(open, { ...ERROR, command: "bash" }), ["bash"]);
  assert.deepEqual(answered(open, { ...ERROR, command: "compact" }), ["compact", "compact"]);
});

test("a success without id is no call's", () => {
  assert.deepEqual(answered(calls(false, "bash"), { type: "response", command: "bash", success: true }), []);
});
