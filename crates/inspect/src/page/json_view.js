// Shows a JSON value as a tree. Long lists, deep values and long texts unfold on request, so that no value is too big.

import { append, button, element } from "./elements.js";
import { boundedText, formatCount } from "./visible_text.js";

/** Nodes that are drawn at once; what is below them is folded. */
const BUDGET = 400;

/** Members that are shown of one value at a time. */
const MEMBERS = 200;

/** Characters of a text that are shown in the tree. */
const LONG = 400;

/** Characters of a string that JSON writes as escapes, and those that are not seen or reorder others. */
const ESCAPED = /[\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

/**
 * JSON of a string that shows every character.
 * @param {string} text
 */
export function jsonString(text) {
  return JSON.stringify(text).replace(ESCAPED, (letter) =>
    [...Array(letter.length).keys()].map((at) => `\\u${letter.charCodeAt(at).toString(16).padStart(4, "0")}`).join(""));
}

/**
 * Shows a value.
 * @param {unknown} value
 * @returns {HTMLElement}
 */
export function jsonView(value) {
  return element("div", { class: "json", dir: "ltr" }, node(value, "", { left: BUDGET }));
}

/**
 * @param {unknown} value
 * @param {string} name of the member; empty: none
 * @param {{ left: number }} budget
 * @returns {HTMLElement}
 */
function node(value, name, budget) {
  budget.left -= 1;
  const label = name === "" ? null : element("span", { class: "json-name" }, `${jsonString(name)}: `);
  if (typeof value !== "object" || value === null) return element("div", { class: "json-leaf" }, label, leaf(value));
  const members = Array.isArray(value) ? value.map((child) => ["", child]) : Object.entries(value);
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  if (members.length === 0) return element("div", { class: "json-leaf" }, label, `${open}${close}`);
  const size = `${formatCount(members.length)} ${Array.isArray(value) ? "elements" : "members"}`;
  const folded = element("details", {}, element("summary", {}, label, open, element("span", { class: "json-size" }, ` ${size} `), close));
  let isFilled = false;
  const fill = () => {
    if (isFilled) return;
    isFilled = true;
    fillMembers(folded, /** @type {[string, unknown][]} */ (members), 0, budget);
  };
  folded.addEventListener("toggle", () => {
    if (folded.open) {
      budget.left = Math.max(budget.left, MEMBERS);
      fill();
    }
  });
  if (budget.left > members.length) {
    fill();
    folded.open = true;
  }
  return folded;
}

/**
 * @param {HTMLElement} folded
 * @param {[string, unknown][]} members
 * @param {number} from
 * @param {{ left: number }} budget
 */
function fillMembers(folded, members, from, budget) {
  const until = Math.min(members.length, from + MEMBERS);
  append(folded, members.slice(from, until).map(([name, child]) => node(child, name, budget)));
  if (until === members.length) return;
  const more = button(`Show more (${formatCount(members.length - until)} left)`, () => {
    more.remove();
    budget.left = Math.max(budget.left, MEMBERS);
    fillMembers(folded, members, until, budget);
  });
  folded.append(more);
}

/** @param {unknown} value */
function leaf(value) {
  if (typeof value !== "string") return element("span", { class: "json-plain" }, String(value));
  if (value.length <= LONG) return element("span", { class: "json-string" }, jsonString(value));
  return boundedText(value, "div", "json-long");
}
