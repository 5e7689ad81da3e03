// JSON that is being typed: where its values stand, and what the caret is in. It need not be complete or valid.

/** @import {Path} from "./schema.js" */

/**
 * @typedef {object} Place Where the caret is.
 * @property {Path} path Of the value that the caret is in; for a name: of the object around it.
 * @property {"name" | "value" | "none"} kind
 * @property {number} from Start of the word before the caret.
 * @property {string} word From there to the caret, without its opening quote.
 * @property {boolean} isQuoted Whether the word has an opening quote.
 * @property {Set<string>} names Names that the object has before the caret.
 */

/** @typedef {{ isObject: boolean, step: string | number, isAfterColon: boolean, names: Set<string> }} Level */

/** A string as far as it goes, a punctuation mark, or another word. */
const TOKEN = /"(?:[^"\\]|\\.)*"?|[{}[\],:]|[^\s"{}[\],:]+/gs;

/**
 * What the caret is in.
 * @param {string} text
 * @param {number} caret
 * @returns {Place}
 */
export function placeAt(text, caret) {
  const before = text.slice(0, caret);
  /** @type {Level[]} */
  const levels = [];
  let last = { text: "", from: caret };
  for (const found of before.matchAll(TOKEN)) {
    const token = found[0];
    const end = found.index + token.length;
    const isUnderCaret = end === caret && !/^[{}[\],:]$/.test(token) && !(token.length > 1 && isClosedString(token));
    if (isUnderCaret) {
      last = { text: token, from: found.index };
      break;
    }
    take(levels, token);
  }
  const top = levels.at(-1);
  const isQuoted = last.text.startsWith("\"");
  const path = levels.slice(0, -1).map((level) => level.step);
  const kind = !top ? "none" : top.isObject && !top.isAfterColon ? "name" : "value";
  return {
    path: top && kind === "value" ? [...path, top.step] : path, kind, from: last.from, isQuoted,
    word: isQuoted ? last.text.slice(1) : last.text, names: top?.names ?? new Set(),
  };
}

/** @param {string} token */
function isClosedString(token) {
  return /^"(?:[^"\\]|\\.)*"$/s.test(token);
}

/**
 * Follows one token.
 * @param {Level[]} levels
 * @param {string} token
 */
function take(levels, token) {
  const top = levels.at(-1);
  if (token === "{") levels.push({ isObject: true, step: "", isAfterColon: false, names: new Set() });
  else if (token === "[") levels.push({ isObject: false, step: 0, isAfterColon: true, names: new Set() });
  else if (token === "}" || token === "]") levels.pop();
  else if (!top) return;
  else if (token === ":") top.isAfterColon = top.isObject || top.isAfterColon;
  else if (token === ",") {
    if (top.isObject) top.isAfterColon = false;
    else if (typeof top.step === "number") top.step += 1;
  } else if (top.isObject && !top.isAfterColon) {
    top.step = unquoted(token);
    top.names.add(top.step);
  }
}

/** @param {string} token */
function unquoted(token) {
  try {
    return String(JSON.parse(token));
  } catch {
    return token.replace(/^"|"$/g, "");
  }
}

/**
 * Where the value at a path stands in a text: its start and end.
 * @param {string} text
 * @param {Path} path
 * @returns {[number, number] | undefined}
 */
export function rangeOf(text, path) {
  /** @type {Level[]} */
  const levels = [];
  const wanted = path.map(String);
  const isThere = () => levels.length === wanted.length && levels.every((level, at) => level.isAfterColon && String(level.step) === wanted[at]);
  let start = -1;
  for (const found of text.matchAll(TOKEN)) {
    const token = found[0];
    const end = found.index + token.length;
    if (start < 0) {
      const isValue = !/^[}\],:]$/.test(token);
      if (isValue && isThere()) {
        if (token !== "{" && token !== "[") return [found.index, end];
        start = found.index;
      }
    } else if (/^[}\]]$/.test(token) && levels.length === wanted.length + 1) return [start, end];
    take(levels, token);
  }
  return start < 0 ? undefined : [start, text.length];
}

/**
 * The steps of a JSON pointer.
 * @param {string} pointer
 * @returns {string[]}
 */
export function pathOf(pointer) {
  return pointer.split("/").slice(1).map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/**
 * A JSON pointer of these steps.
 * @param {Path} path
 */
export function pointerOf(path) {
  return path.map((step) => `/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/**
 * Characters of a text before a number of its bytes in UTF-8.
 * @param {string} text
 * @param {number} bytes
 */
export function characterAt(text, bytes) {
  let left = bytes;
  let at = 0;
  for (const letter of text) {
    const code = letter.codePointAt(0) ?? 0;
    left -= code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    if (left < 0) return at;
    at += letter.length;
  }
  return at;
}

/**
 * Line and column of a place, from 1.
 * @param {string} text
 * @param {number} at
 * @returns {[number, number]}
 */
export function lineAndColumn(text, at) {
  const lines = text.slice(0, at).split("\n");
  return [lines.length, (lines.at(-1)?.length ?? 0) + 1];
}
