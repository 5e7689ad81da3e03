/** Converts values of extensions, which may have any type, to the types of frames. */

/**
 * @param {unknown} value
 * @returns {boolean} Whether the value is an object and no array.
 */
export function isRecord(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * @param {unknown} value
 * @returns {string} The type of the value for errors, such as `null`, `array` or `string`.
 */
export function typeName(value) {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

/**
 * @param {unknown} value
 * @returns {string | undefined} The value as a string, if it is a string, number, boolean or bigint.
 */
export function text(value) {
  if (typeof value === "string") return value;
  return ["number", "boolean", "bigint"].includes(typeof value) ? String(value) : undefined;
}

/**
 * @param {unknown} value
 * @returns {string} The value as a string: "" for null and undefined, JSON for objects.
 */
export function asText(value) {
  if (value === undefined || value === null) return "";
  const known = text(value);
  if (known !== undefined) return known;
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return "[cannot be written as JSON]";
  }
}

/**
 * @param {unknown} value
 * @param {string} what Name of the value in the error.
 * @returns {any} A copy of the value that has been through JSON.
 * @throws when JSON cannot express the value.
 */
export function plain(value, what) {
  try {
    const json = JSON.stringify(value);
    return json === undefined ? undefined : JSON.parse(json);
  } catch (error) {
    throw new Error(`${what} cannot be written as JSON: ${messageOf(error)}`);
  }
}

/**
 * @param {unknown} content
 * @returns {any[]} Blocks of the result of a tool: texts and images.
 */
export function blocks(content) {
  if (content === undefined || content === null) return [];
  return (Array.isArray(content) ? content : [content]).map(block);
}

/**
 * @param {unknown} content
 * @returns {string | any[]} Content of a message: text, or blocks of any type.
 */
export function messageContent(content) {
  if (!Array.isArray(content)) return asText(content);
  return content.map((part) => (typeof part?.type === "string" && part.type !== "text" ? part : block(part)));
}

/**
 * @param {unknown} error
 * @returns {string} The message of an error, or the text of any other value that was thrown.
 */
export function messageOf(error) {
  try {
    return String(error instanceof Error ? error.message : error);
  } catch {
    return "an error without a readable message";
  }
}

function block(given) {
  if (given?.type === "text") return { ...given, text: asText(given.text) };
  const image = given?.type === "image" && typeof given.data === "string" && typeof given.mimeType === "string";
  return image ? given : { type: "text", text: asText(given) };
}

/**
 * @param {any} value
 * @returns {object | undefined} The tokens and costs of a `Usage` of pi: 0 for what is no amount; undefined if it is no object.
 */
export function usage(value) {
  if (!isRecord(value)) return undefined;
  const count = (it) => (Number.isSafeInteger(it) && it >= 0 ? it : 0);
  const dollars = (it) => (Number.isFinite(it) && it >= 0 ? it : 0);
  const { input, output, cacheRead, cacheWrite, cacheWrite1h, reasoning, totalTokens } = value;
  const cost = isRecord(value.cost) ? value.cost : {};
  return {
    input: count(input),
    output: count(output),
    cacheRead: count(cacheRead),
    cacheWrite: count(cacheWrite),
    cacheWrite1h: cacheWrite1h === undefined ? undefined : count(cacheWrite1h),
    reasoning: reasoning === undefined ? undefined : count(reasoning),
    totalTokens: count(totalTokens),
    cost: {
      input: dollars(cost.input),
      output: dollars(cost.output),
      cacheRead: dollars(cost.cacheRead),
      cacheWrite: dollars(cost.cacheWrite),
      total: dollars(cost.total),
    },
  };
}
