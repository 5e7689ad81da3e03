// The raw line of a command: completion of names and values from the schema, and a way to each error.

import { byId, element, replace } from "./elements.js";
import { lineAndColumn, placeAt, rangeOf, pathOf, characterAt } from "./json_text.js";
import { listedValues, resolve, schemasAt } from "./schema.js";
import { visiblePlainText } from "./visible_text.js";

/** @import {Definitions, Schema} from "./schema.js" */
/** @import {Place} from "./json_text.js" */
/** @import {Problem} from "./contract" */

/** Completions that are offered at a time. */
const MOST = 12;

/** @typedef {{ insert: string, about: string }} Completion */

/** The text field for raw JSON. */
export class RawEditor {
  /**
   * @param {HTMLTextAreaElement} field
   * @param {HTMLElement} list For completions.
   * @param {() => void} changed
   */
  constructor(field, list, changed) {
    this.field = field;
    this.list = list;
    /** @type {Schema} */
    this.schema = {};
    /** @type {Definitions} */
    this.definitions = {};
    /** @type {Completion[]} */
    this.completions = [];
    this.chosen = 0;
    /** @type {Place | undefined} */
    this.place = undefined;
    field.addEventListener("input", () => {
      changed();
      this.complete(false);
    });
    field.addEventListener("keydown", (event) => this.onKey(event));
    field.addEventListener("blur", () => this.close());
    list.addEventListener("mousedown", (event) => {
      event.preventDefault();
      const option = event.target instanceof Element ? event.target.closest("[role=option]") : null;
      if (option instanceof HTMLElement) this.accept(Number(option.dataset["at"]));
    });
  }

  /**
   * Offers completions for what the caret is in. Unless `isWanted`, only if a word was begun.
   * @param {boolean} isWanted
   */
  complete(isWanted) {
    const caret = this.field.selectionStart;
    const place = placeAt(this.field.value, caret);
    const isBegun = place.isQuoted || place.word !== "";
    this.completions = isBegun || isWanted ? completionsAt(this.field.value, place, this.schema, this.definitions).slice(0, MOST) : [];
    this.place = place;
    this.chosen = 0;
    this.drawList();
  }

  drawList() {
    const { completions, list, field } = this;
    list.hidden = completions.length === 0;
    replace(list, ...completions.map(({ insert, about }, at) => element("div",
      { role: "option", id: `completion-${at}`, "data-at": at, "aria-selected": at === this.chosen },
      element("code", {}, insert), " ", element("span", { class: "faint" }, about))));
    if (completions.length > 0) field.setAttribute("aria-activedescendant", `completion-${this.chosen}`);
    else field.removeAttribute("aria-activedescendant");
    list.children[this.chosen]?.scrollIntoView({ block: "nearest" });
  }

  close() {
    this.completions = [];
    this.drawList();
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    if (event.key === " " && event.ctrlKey) {
      event.preventDefault();
      this.complete(true);
      return;
    }
    const { length } = this.completions;
    if (length === 0 || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      this.chosen = (this.chosen + (event.key === "ArrowDown" ? 1 : length - 1)) % length;
      this.drawList();
    } else if (event.key === "Enter" || event.key === "Tab") this.accept(this.chosen);
    else if (event.key === "Escape") this.close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {number} at */
  accept(at) {
    const completion = this.completions[at];
    const { place, field } = this;
    if (!completion || !place) return;
    // A quote that closes the word already is taken over.
    const end = field.selectionStart + (place.isQuoted && field.value[field.selectionStart] === "\"" ? 1 : 0);
    field.setRangeText(completion.insert, place.from, end, "end");
    this.close();
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }

  /**
   * Shows errors below the field; each leads to its place.
   * @param {Problem[]} problems
   */
  showProblems(problems) {
    const { field } = this;
    const box = byId("raw-problems");
    if (problems.length > 0) field.setAttribute("aria-invalid", "true");
    else field.removeAttribute("aria-invalid");
    replace(box, ...problems.map((problem) => {
      const [from, to] = this.rangeOfProblem(problem);
      const [line, column] = lineAndColumn(field.value, from);
      const go = element("button", { type: "button", class: "link", onclick: () => {
        field.focus();
        field.setSelectionRange(from, to);
      } }, `${line}:${column}`);
      const name = problem.pointer === "" ? "" : `${problem.pointer}: `;
      return element("li", {}, go, " ", visiblePlainText(`${name}${problem.text}`));
    }));
  }

  /**
   * @param {Problem} problem
   * @returns {[number, number]}
   */
  rangeOfProblem(problem) {
    const text = this.field.value;
    if (typeof problem.at === "number") {
      const at = characterAt(text, problem.at);
      return [at, Math.min(text.length, at + 1)];
    }
    const path = pathOf(problem.pointer);
    // A member that is missing is shown at the object around it.
    for (let length = path.length; length >= 0; length -= 1) {
      const range = rangeOf(text, path.slice(0, length));
      if (range) return range;
    }
    return [0, text.length];
  }
}

/**
 * What may stand at a place.
 * @param {string} text
 * @param {Place} place
 * @param {Schema} schema
 * @param {Definitions} definitions
 * @returns {Completion[]}
 */
export function completionsAt(text, place, schema, definitions) {
  const schemas = schemasAt(schema, definitions, place.path, constantsOf(text));
  if (place.kind === "name") {
    /** @type {Map<string, Completion>} */
    const names = new Map();
    for (const it of schemas) {
      for (const [name, member] of Object.entries(/** @type {Record<string, Schema>} */ (it["properties"] ?? {}))) {
        if (place.names.has(name) || !name.startsWith(place.word)) continue;
        names.set(name, { insert: `${JSON.stringify(name)}: `, about: firstSentence(member["description"] ?? resolve(member, definitions)["description"]) });
      }
    }
    return [...names.values()];
  }
  if (place.kind !== "value") return [];
  /** @type {Map<string, Completion>} */
  const values = new Map();
  for (const it of schemas) {
    const listed = listedValues(it) ?? (it["type"] === "boolean" ? [true, false] : []);
    for (const value of listed) {
      const insert = JSON.stringify(value);
      const isBegun = typeof value === "string" ? value.startsWith(place.word) : !place.isQuoted && insert.startsWith(place.word);
      if (isBegun) values.set(insert, { insert, about: firstSentence(it["description"]) });
    }
  }
  return [...values.values()];
}

/**
 * The outermost constant members of a text that need not be complete: they tell commands apart.
 * @param {string} text
 */
function constantsOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    const type = /^\s*\{[^{}[\]]*?"type"\s*:\s*"([^"\\]*)"/s.exec(text);
    return type ? { type: type[1] } : {};
  }
}

/** @param {unknown} text */
function firstSentence(text) {
  return String(text ?? "").split(/(?<=\.)\s/, 1)[0] ?? "";
}
