// The Markdown that models write most: paragraphs, headings, lists, quotes, code. Links stay texts: nothing leads elsewhere.

import { append, element } from "./elements.js";
import { visibleText } from "./visible_text.js";

/** Characters up to which a text is read as Markdown. */
const LONGEST = 200_000;

/** Code, strong and emphasised words within a line. */
const INLINE = /(`+)([^`\n]{1,2000}?)\1(?!`)|\*\*([^*\n]{1,2000}?)\*\*|(?<![\w*])\*([^*\s][^*\n]{0,2000}?)\*(?![\w*])/g;

/**
 * Shows a text of a model.
 * @param {string} text
 * @returns {HTMLElement}
 */
export function markdownView(text) {
  const box = element("div", { class: "markdown", dir: "auto" });
  const lines = text.slice(0, LONGEST).split("\n");
  let at = 0;
  while (at < lines.length) at = block(lines, at, box);
  if (text.length > LONGEST) box.append(element("pre", { class: "text" }, visibleText(text.slice(LONGEST))));
  return box;
}

/**
 * Appends the block that begins at a line; returns the line behind it.
 * @param {string[]} lines
 * @param {number} at
 * @param {HTMLElement} box
 */
function block(lines, at, box) {
  const line = lines[at] ?? "";
  const fence = /^\s*(`{3,}|~{3,})\s*(\S*)/.exec(line);
  if (fence) return code(lines, at + 1, fence[1] ?? "```", fence[2] ?? "", box);
  if (line.trim() === "") return at + 1;
  const heading = /^(#{1,6})\s+(.*)$/.exec(line);
  if (heading) {
    // The page's own headings are above: those of a message are of the lowest levels.
    box.append(element("p", { class: "heading" }, inline(heading[2] ?? "")));
    return at + 1;
  }
  if (/^\s*(?:[-*_]\s*){3,}$/.test(line)) {
    box.append(element("hr"));
    return at + 1;
  }
  const bullet = /^\s*(?:[-*+]|\d{1,9}[.)])\s+/;
  if (bullet.test(line)) {
    const isOrdered = /^\s*\d/.test(line);
    return gather(lines, at, (it) => bullet.test(it), (taken) =>
      box.append(element(isOrdered ? "ol" : "ul", {}, ...taken.map((it) => element("li", {}, inline(it.replace(bullet, "")))))));
  }
  if (/^\s*>/.test(line)) {
    return gather(lines, at, (it) => /^\s*>/.test(it), (taken) =>
      box.append(element("blockquote", {}, inline(taken.map((it) => it.replace(/^\s*>\s?/, "")).join("\n")))));
  }
  const isText = (/** @type {string} */ it) => it.trim() !== "" && !/^\s*(?:`{3,}|~{3,}|#{1,6}\s|>|[-*+]\s|\d{1,9}[.)]\s)/.test(it);
  return gather(lines, at, (it, place) => place === at || isText(it), (taken) => box.append(element("p", {}, inline(taken.join("\n")))));
}

/**
 * Appends a block of code; returns the line behind it.
 * @param {string[]} lines
 * @param {number} from
 * @param {string} fence
 * @param {string} language
 * @param {HTMLElement} box
 */
function code(lines, from, fence, language, box) {
  let end = from;
  while (end < lines.length && !(lines[end] ?? "").trimStart().startsWith(fence)) end += 1;
  const text = visibleText(lines.slice(from, end).join("\n"));
  box.append(element("pre", { class: "text code", "data-language": language.slice(0, 40) }, element("code", {}, text)));
  return end + 1;
}

/**
 * Takes lines as long as they fit.
 * @param {string[]} lines
 * @param {number} at
 * @param {(line: string, place: number) => boolean} fits
 * @param {(taken: string[]) => void} take
 */
function gather(lines, at, fits, take) {
  let end = at;
  while (end < lines.length && fits(lines[end] ?? "", end)) end += 1;
  take(lines.slice(at, end));
  return Math.max(end, at + 1);
}

/**
 * Nodes for one paragraph.
 * @param {string} text
 * @returns {DocumentFragment}
 */
export function inline(text) {
  const fragment = document.createDocumentFragment();
  let done = 0;
  for (const found of text.matchAll(INLINE)) {
    append(fragment, [visibleText(text.slice(done, found.index))]);
    const [whole, , quoted, strong, emphasised] = found;
    if (quoted !== undefined) append(fragment, [element("code", {}, visibleText(quoted))]);
    else if (strong !== undefined) append(fragment, [element("strong", {}, visibleText(strong))]);
    else append(fragment, [element("em", {}, visibleText(emphasised ?? whole))]);
    done = found.index + whole.length;
  }
  append(fragment, [visibleText(text.slice(done))]);
  return fragment;
}
