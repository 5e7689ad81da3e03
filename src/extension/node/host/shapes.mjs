/** What extensions without types give, brought into the shape that frames have. */

/**
 * @param {unknown} value
 * @returns {boolean} Whether it is an object that is no list.
 */
export function isRecord(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * @param {unknown} value
 * @returns {string | undefined} Text, of what obviously is one; else `undefined`.
 */
export function text(value) {
  if (typeof value === "string") return value;
  return ["number", "boolean", "bigint"].includes(typeof value) ? String(value) : undefined;
}

/**
 * @param {unknown} value
 * @returns {string} Text of anything: nothing for what is not there, JSON for what is no text.
 */
export function asText(value) {
  if (value === undefined || value === null) return "";
  const known = text(value);
  if (known !== undefined) return known;
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return "[not to be said in JSON]";
  }
}

/**
 * @param {unknown} value
 * @param {string} what How an error calls it.
 * @returns {any} A copy as it comes out of JSON.
 * @throws when JSON cannot hold it.
 */
export function plain(value, what) {
  try {
    const json = JSON.stringify(value);
    return json === undefined ? undefined : JSON.parse(json);
  } catch (error) {
    throw new Error(`${what} cannot be said in JSON: ${messageOf(error)}`);
  }
}

/**
 * @param {unknown} content
 * @returns {any[]} Blocks that a result of a tool may have: texts and images.
 */
export function blocks(content) {
  if (content === undefined || content === null) return [];
  return (Array.isArray(content) ? content : [content]).map(block);
}

/**
 * @param {unknown} content
 * @returns {string | any[]} What a message may have: text, or blocks of any type.
 */
export function messageContent(content) {
  if (!Array.isArray(content)) return asText(content);
  return content.map((part) => (typeof part?.type === "string" && part.type !== "text" ? part : block(part)));
}

/** @param {unknown} error */
export function messageOf(error) {
  try {
    return String(error instanceof Error ? error.message : error);
  } catch {
    return "an error that cannot be shown";
  }
}

function block(given) {
  if (given?.type === "text") return { ...given, text: asText(given.text) };
  const image = given?.type === "image" && typeof given.data === "string" && typeof given.mimeType === "string";
  return image ? given : { type: "text", text: asText(given) };
}
