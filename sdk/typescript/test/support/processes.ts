import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as later } from "node:timers/promises";

/** What was killed is gone after this long, in milliseconds; nothing tells when. */
const LONG_ENOUGH = 5000;

/** Nothing is left of that group, nor of what was started with that `HOME`, nor a child of ours that nobody buried. */
export async function assertGone(group: number, home?: string): Promise<void> {
  const late = Date.now() + LONG_ENOUGH;
  const left = (): string[] => processes((pid) => isOf(group, pid) || (home !== undefined && isAt(home, pid)));
  while (left().length > 0 && Date.now() < late) await later(5);
  assert.deepEqual(left(), []);
}

/** The processes that are so. */
export function processes(are: (pid: string) => boolean): string[] {
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name) && are(name));
}

/** Whether a process is of that group. A dead one is where burying it is up to us. */
export function isOf(leader: number, pid: string): boolean {
  const [state, parent, group] = stat(pid);
  return Number(group) === leader && (state !== "Z" || Number(parent) === process.pid);
}

/** Whether a process was started with that `HOME`. */
function isAt(home: string, pid: string): boolean {
  return read(`/proc/${pid}/environ`).split("\0").includes(`HOME=${home}`);
}

/** State, parent and group of a process; nothing if it has gone meanwhile. */
function stat(pid: string): string[] {
  const text = read(`/proc/${pid}/stat`);
  return text.slice(text.lastIndexOf(")") + 2).split(" ");
}

function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
