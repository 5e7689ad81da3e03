import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";

/** Whether an object has at least the members that are expected; everything else, arrays too, has to be equal. */
export function has(value: unknown, expected: unknown): boolean {
  if (!isObject(expected) || !isObject(value)) return isDeepStrictEqual(value, expected);
  return Object.entries(expected).every(([member, one]) => member in value && has(value[member], one));
}

export function assertHas(value: unknown, expected: unknown): void {
  assert(has(value, expected), `expected ${JSON.stringify(expected)}, got ${JSON.stringify(value)}`);
}

function isObject(value: unknown): value is { readonly [member: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
