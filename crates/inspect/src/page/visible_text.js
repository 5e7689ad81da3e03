// Shows text from outside so that nothing in it is hidden or moves its neighbours. Mirrors `src/harmless.rs`.

import { append, button, element } from "./elements.js";

/** Characters that are not seen, or reorder others. Joiners stay: scripts and emoji need them. */
const HIDDEN =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

/** Colours of a terminal, as they are and as the server writes them out. */
const COLOURS = /(?:\x1b|\\u\{1b\})\[[0-9;:]*m/g;

/** Names of common hidden characters. */
const NAMES = new Map([
  [0x7f, "DEL"], [0xad, "SHY"], [0x61c, "ALM"], [0x200b, "ZWSP"], [0x200e, "LRM"], [0x200f, "RLM"], [0x2028, "LS"], [0x2029, "PS"],
  [0x202a, "LRE"], [0x202b, "RLE"], [0x202c, "PDF"], [0x202d, "LRO"], [0x202e, "RLO"], [0x2060, "WJ"], [0x2066, "LRI"],
  [0x2067, "RLI"], [0x2068, "FSI"], [0x2069, "PDI"], [0xfeff, "BOM"],
]);

/** Characters that are shown at first; more follow on request. */
const FIRST = 20_000;

/** Characters that each request adds. */
const FURTHER = 200_000;

/**
 * The visible form of one hidden character.
 * @param {string} letter
 */
function visibleForm(letter) {
  const code = letter.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  return `[${NAMES.get(code) ?? `U+${code.toString(16).toUpperCase().padStart(4, "0")}`}]`;
}

/**
 * Text for an attribute or a single line: hidden characters in their visible form.
 * @param {string} text
 */
export function visiblePlainText(text) {
  return text.replace(HIDDEN, visibleForm);
}

/**
 * Text nodes for `text`, with marked visible forms of hidden characters.
 * @param {string} text
 * @returns {DocumentFragment}
 */
export function visibleText(text) {
  const fragment = document.createDocumentFragment();
  let done = 0;
  for (const found of text.matchAll(HIDDEN)) {
    append(fragment, [text.slice(done, found.index), element("span", { class: "mark" }, visibleForm(found[0]))]);
    done = found.index + found[0].length;
  }
  append(fragment, [text.slice(done)]);
  return fragment;
}

/**
 * A program's output without terminal colours and with one kind of line end. Other control sequences stay visible.
 * @param {string} output
 */
export function withoutColours(output) {
  return output.replace(/\r\n/g, "\n").replace(COLOURS, "");
}

/**
 * Shows a text of any length: its beginning, and a button for more.
 * @param {string} text
 * @param {"p" | "pre" | "div" | "span"} name of the element
 * @param {string} className
 * @param {(text: string) => Node} render
 * @returns {HTMLElement}
 */
export function boundedText(text, name = "pre", className = "text", render = visibleText) {
  const shown = element(name, { class: className, dir: "auto" });
  let done = 0;
  const showMore = (/** @type {number} */ count) => {
    const end = endOfCharacter(text, done + count);
    shown.append(render(text.slice(done, end)));
    done = end;
  };
  showMore(FIRST);
  if (done === text.length) return shown;
  const label = () => `Show more (${formatCount(text.length - done)} characters left)`;
  const more = button(label(), () => {
    showMore(FURTHER);
    if (done === text.length) more.remove();
    else more.textContent = label();
  });
  return element("div", {}, shown, more);
}

/**
 * The place of a cut at `at` that does not split a character.
 * @param {string} text
 * @param {number} at
 */
export function endOfCharacter(text, at) {
  if (at >= text.length) return text.length;
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff ? at + 1 : at;
}

/**
 * The first line that is not blank, cut to `most` characters.
 * @param {string} text
 * @param {number} most
 */
export function firstLine(text, most = 120) {
  const line = text.slice(0, 4000).trimStart().split("\n", 1)[0] ?? "";
  return line.length > most ? `${line.slice(0, endOfCharacter(line, most))}…` : line;
}

const COUNTS = new Intl.NumberFormat("en");

/**
 * A number with separators of thousands.
 * @param {number} count
 */
export function formatCount(count) {
  return COUNTS.format(count);
}

/**
 * Milliseconds as people read them: `12 ms`, `3.4 s`, `2:05 min`.
 * @param {number} ms
 */
export function formatDuration(ms) {
  if (ms < 1000) return `${ms < 10 ? Math.round(ms * 10) / 10 : Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")} min`;
}

/**
 * Bytes as people read them.
 * @param {number} bytes
 */
export function formatBytes(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${(bytes / 1000).toFixed(1)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
