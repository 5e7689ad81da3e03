/** JSON values: access by path, equality, and structural sharing. */

type Json = { readonly [member: string]: unknown };

export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Value at a path of members; undefined if there is none. */
export function valueAt(value: unknown, members: readonly string[]): unknown {
  let at = value;
  for (const member of members) at = isObject(at) ? at[member] : undefined;
  return at;
}

/** Value at a path; `absent` if the last member is missing, undefined if an earlier one is. */
export function placeAt(frames: unknown, path: string, absent?: null): unknown {
  const members = path.split(".");
  const last = members.pop() ?? "";
  const parent = valueAt(frames, members);
  return isObject(parent) ? (parent[last] ?? absent) : undefined;
}

/** Text of the content of a message: its text blocks, joined. */
export function textOf(content: unknown): string | undefined {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return undefined;
  const text = (block: unknown): string => (valueAt(block, ["type"]) === "text" ? String(valueAt(block, ["text"])) : "");
  return content.map(text).join("");
}

/** Whether two values are equal as JSON. */
export function isEqual(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((item, place) => isEqual(item, other[place]));
  }
  if (!isObject(one) || !isObject(other)) return false;
  const has = (member: string): boolean => member in other && isEqual(one[member], other[member]);
  const members = Object.keys(one);
  return members.length === Object.keys(other).length && members.every(has);
}

/** `after`, in which every part that equals that of `before` is the same object. */
export function kept<T>(before: unknown, after: T): T {
  if (isEqual(before, after)) return before as T;
  if (!Array.isArray(before) || !Array.isArray(after)) return after;
  return after.map((item: unknown, place) => (isEqual(before[place], item) ? before[place] : item)) as T;
}
