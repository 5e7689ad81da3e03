/**
 * The protocol's descriptors, taken out of the way of extensions: programs that they start inherit 0 and 1, and so these
 * lead nowhere and to stderr, while frames go by descriptors that nobody inherits.
 */
import { closeSync, createReadStream, fstatSync, openSync } from "node:fs";

const descriptorPath = (number) => (process.platform === "linux" ? `/proc/self/fd/${number}` : `/dev/fd/${number}`);

/** Frames of the server come in here. */
export const INPUT = moveDescriptor(0, "r", () => openSync("/dev/null", "r"));

/** Frames for the server go out here. */
export const OUTPUT = moveDescriptor(1, "a", () => openAny([descriptorPath(2), "/dev/null"], "a"));

/** @returns {Promise<import("node:stream").Readable>} What comes in, once nobody waits for it by standing still. */
export async function inputStream() {
  if (INPUT === 0) return process.stdin;
  if (!fstatSync(INPUT).isFIFO()) return createReadStream("", { fd: INPUT });
  const { Socket } = await import("node:net");
  return new Socket({ fd: INPUT, readable: true, writable: false });
}

/** A socket cannot be opened once more: it stays where it is. */
function moveDescriptor(number, flags, refill) {
  let own;
  try {
    own = openSync(descriptorPath(number), flags);
  } catch {
    return number;
  }
  closeSync(number);
  // What is opened next has the lowest number that is free: this one.
  refill();
  return own;
}

function openAny(paths, flags) {
  for (const path of paths) {
    try {
      return openSync(path, flags);
    } catch {
      continue;
    }
  }
  return undefined;
}
