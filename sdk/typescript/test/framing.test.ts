import assert from "node:assert/strict";
import { test } from "node:test";
import { ProtocolError } from "../src/index.js";
import { line, Lines } from "../src/framing.js";

const TEXT = '{"a":"\u2028é😀\u0085"}\n{"b":1}\r\n\n{"c":"\\r"}\n';
const LINES = ['{"a":"\u2028é😀\u0085"}', '{"b":1}', "", '{"c":"\\r"}'];

test("lines end at LF alone, wherever the bytes are cut", () => {
  const bytes = Buffer.from(TEXT);
  for (let size = 1; size <= bytes.length; size += 1) {
    const lines = new Lines(100);
    const read: string[] = [];
    for (let at = 0; at < bytes.length; at += size) read.push(...lines.push(bytes.subarray(at, at + size)));
    assert.deepEqual(read, LINES, `pieces of ${size}`);
  }
});

test("a line without its end is none yet", () => {
  const lines = new Lines(100);
  assert.deepEqual(lines.push(Buffer.from('{"a"')), []);
  assert.deepEqual(lines.push(Buffer.from(":1}")), []);
  assert.deepEqual(lines.push(Buffer.from("\n")), ['{"a":1}']);
});

test("a line that is too long is refused as soon as it is, also when it comes in pieces", () => {
  const lines = new Lines(4);
  assert.deepEqual(lines.push(Buffer.from("1234\n123")), ["1234"]);
  assert.throws(() => lines.push(Buffer.from("45")), ProtocolError);
});

test("what is written is one line for every reader of lines", () => {
  const frame = { type: "prompt", message: "one\u2028two\u2029three\nfour" };
  const written = line(frame);
  assert.deepEqual(written.split(/[\n\r\u2028\u2029]/).length, 2);
  assert.deepEqual(JSON.parse(written), frame);
});
