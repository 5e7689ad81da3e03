/**
 * The protocol's descriptors, moved away from 0 and 1: programs that extensions start inherit those, so 0 reads nothing and
 * 1 writes to stderr, while frames use descriptors that are not inherited.
 */
import { closeSync, createReadStream, fstatSync, openSync } from "node:fs";

const descriptorPath = (number) => (process.platform === "linux" ? `/proc/self/fd/${number}` : `/dev/fd/${number}`);

/** Descriptor of inbound frames. */
export const INPUT = moveDescriptor(0, "r", () => openSync("/dev/null", "r"));

/** Descriptor of outbound frames. */
export const OUTPUT = moveDescriptor(1, "a", () => openAny([descriptorPath(2), "/dev/null"], "a"));

/** @returns {Promise<import("node:stream").Readable>} A stream of `INPUT`, for when it is no longer read synchronously. */
export async function inputStream() {
  if (INPUT === 0) return process.stdin;
  // Bun reads nothing from a socket of a pipe that it has not opened; Node.js would keep a thread waiting in a read.
  if (process.versions.bun || !fstatSync(INPUT).isFIFO()) return createReadStream("", { fd: INPUT });
  const { Socket } = await import("node:net");
  return new Socket({ fd: INPUT, readable: true, writable: false });
}

/** Moves a descriptor, and returns its new number. A socket cannot be opened again and keeps its number. */
function moveDescriptor(number, flags, refill) {
  let own;
  try {
    own = openSync(descriptorPath(number), flags);
  } catch {
    return number;
  }
  closeSync(number);
  // The next file that is opened gets the lowest free number: this one.
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
