// What may be sent now: every command with a form, raw JSON beside it. What the machine refuses is grey and says why.

import { RequestError, send } from "./api.js";
import { announce } from "./announce.js";
import { byId, element, onNextFrame, replace, typedById } from "./elements.js";
import { inline } from "./markdown.js";
import { RawEditor } from "./raw_editor.js";
import { blank } from "./schema.js";
import { SchemaForm } from "./schema_form.js";
import { visiblePlainText } from "./visible_text.js";

/** @import {Inspection} from "./inspection.js" */
/** @import {CommandState, Problem, Problems} from "./contract" */

/** Milliseconds without a key until what was typed is checked. */
const PAUSE = 150;

/** The list of commands, and the one that is being written. */
export class CommandsView {
  /** @param {Inspection} inspection */
  constructor(inspection) {
    this.inspection = inspection;
    this.chosen = "";
    this.raw = typedById("raw", HTMLTextAreaElement);
    this.submit = typedById("send", HTMLButtonElement);
    this.anyway = typedById("send-anyway", HTMLInputElement);
    this.form = new SchemaForm(byId("command-form"), (value) => this.onForm(value));
    this.editor = new RawEditor(this.raw, byId("completions"), () => this.onRaw());
    /** @type {Problem[]} */
    this.problems = [];
    /** What becomes of the line as it is. @type {CommandState | null | undefined} */
    this.fate = undefined;
    this.pause = 0;
    /** Counts lines, for ids and to recognise late answers. */
    this.count = 0;
    this.drawList = onNextFrame(() => this.drawCommands());
    this.listen();
  }

  listen() {
    const { inspection } = this;
    inspection.on(["protocol"], () => {
      this.editor.definitions = inspection.definitions;
      this.editor.schema = inboundSchema(inspection);
      const known = inspection.protocol?.commands ?? [];
      this.choose(known.some((it) => it.type === this.chosen) ? this.chosen : (known[0]?.type ?? ""));
    });
    inspection.on(["protocol", "commands", "session", "moment"], this.drawList);
    inspection.on(["commands"], () => this.check());
    typedById("command-search", HTMLInputElement).addEventListener("input", this.drawList);
    byId("send-form").addEventListener("submit", (event) => {
      event.preventDefault();
      void this.sendLine();
    });
    byId("send-form").addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        void this.sendLine();
      }
    });
    this.anyway.addEventListener("change", () => this.drawFate());
    byId("commands").addEventListener("change", (event) => {
      if (event.target instanceof HTMLInputElement) this.choose(event.target.value);
    });
  }

  /** The commands that fit the search, refused ones with the reason. */
  drawCommands() {
    const { inspection } = this;
    const words = typedById("command-search", HTMLInputElement).value.toLowerCase().split(/\s+/);
    const states = new Map((inspection.moment?.commands ?? inspection.commands).map((it) => [it.type, it]));
    const known = inspection.protocol?.commands ?? [];
    const shown = known.filter((it) => words.every((word) => `${it.type} ${it.description}`.toLowerCase().includes(word)));
    const box = byId("commands");
    const hadFocus = box.contains(document.activeElement);
    replace(box, ...shown.map((it) => commandChoice(it, states.get(it.type), it.type === this.chosen)));
    const checked = box.querySelector("input:checked");
    if (hadFocus && checked instanceof HTMLElement) checked.focus();
    const { session } = inspection;
    const reason = session && !session.sends ? (session.sendsNot ?? "Nothing can be sent here.") : "";
    replace(byId("sends-not"), reason === "" ? null : visiblePlainText(reason));
    this.drawFate();
  }

  /**
   * Shows the form of a command.
   * @param {string} type
   */
  choose(type) {
    this.chosen = type;
    const about = this.inspection.protocol?.commands.find((it) => it.type === type);
    if (!about) return;
    const value = blank({ $ref: `#/$defs/${about.definition}` }, this.inspection.definitions);
    this.setValue({ id: this.freshId(), .../** @type {object} */ (value) });
  }

  freshId() {
    return `i${this.inspection.records + 1}`;
  }

  /**
   * Shows a value in the form and as JSON.
   * @param {unknown} value
   */
  setValue(value) {
    this.raw.value = JSON.stringify(value, null, 2);
    this.showForm(value);
    this.check();
  }

  /**
   * Shows a line that was sent before.
   * @param {string} line
   */
  setLine(line) {
    try {
      const value = JSON.parse(line);
      if (typeof value?.id === "string") value.id = this.freshId();
      this.chosen = String(value?.type ?? "");
      this.setValue(value);
      this.drawList();
    } catch {
      this.raw.value = line;
      this.onRaw();
    }
  }

  /** @param {unknown} value */
  showForm(value) {
    const { inspection } = this;
    const type = String(/** @type {any} */ (value)?.type ?? "");
    const about = inspection.protocol?.commands.find((it) => it.type === type) ?? inspection.protocol?.others.find((it) => it.type === type);
    replace(byId("command-about"), element("h3", {}, visiblePlainText(type)), about ? element("p", {}, inline(about.description)) : null);
    if (about) this.form.show({ $ref: `#/$defs/${about.definition}` }, value, inspection.definitions);
    else replace(byId("command-form"), element("p", { class: "faint" }, "The JSON below is no command of this dialect, so it has no form."));
  }

  /** @param {unknown} value */
  onForm(value) {
    this.raw.value = JSON.stringify(value, null, 2);
    this.later();
  }

  onRaw() {
    try {
      const value = JSON.parse(this.raw.value);
      if (value?.type !== this.chosen) {
        this.chosen = String(value?.type ?? "");
        this.drawList();
      }
      this.showForm(value);
    } catch {
      // The form keeps the latest valid value.
    }
    this.later();
  }

  later() {
    clearTimeout(this.pause);
    this.pause = setTimeout(() => this.check(), PAUSE);
  }

  /** The line as it is sent: JSON without line breaks, anything else as it is. */
  line() {
    try {
      return JSON.stringify(JSON.parse(this.raw.value));
    } catch {
      return this.raw.value.replaceAll(/\r?\n/g, " ");
    }
  }

  /** Asks the server for errors of the line, and what becomes of it now. */
  async check() {
    this.count += 1;
    const { count } = this;
    if (this.raw.value.trim() === "") return;
    // Blanks for line breaks, so that places in the line are those in the field.
    const line = this.raw.value.replace(/[\r\n]/g, " ");
    /** @type {Problems} */
    const checked = await send("POST", "api/validate", { line, force: false }).catch((failure) => ({ problems: problemsOf(failure) }));
    if (count !== this.count) return;
    this.problems = checked.problems;
    this.fate = checked.command;
    this.form.showProblems(this.problems);
    this.editor.showProblems(this.problems);
    this.drawFate();
  }

  drawFate() {
    const { fate, problems, anyway, submit, inspection } = this;
    const isRefused = fate && !fate.allowed && fate.disposition !== "depends";
    const reason = problems.length > 0 ? "The line has errors." : isRefused ? (fate.why ?? fate.error ?? "Refused in this state.") : "";
    const text = reason || (fate ? (fate.why ?? `Now: ${fate.disposition}`) : "");
    replace(byId("fate"), element("span", { class: reason ? "bad" : "faint" }, visiblePlainText(text)));
    submit.disabled = !(inspection.session?.sends ?? false) || (reason !== "" && !anyway.checked);
  }

  async sendLine() {
    if (this.submit.disabled) return;
    const line = this.line();
    try {
      await send("POST", "api/send", { line, force: this.anyway.checked });
      announce("Sent");
      this.renewId();
    } catch (failure) {
      const problems = problemsOf(failure);
      this.editor.showProblems(problems);
      this.form.showProblems(problems);
      announce(failure instanceof Error ? failure.message : String(failure), "bad");
    }
  }

  /** Gives the next command another id, if this one had one of ours. */
  renewId() {
    try {
      const value = JSON.parse(this.raw.value);
      if (!/^i\d+$/.test(value.id)) return;
      const next = Math.max(this.inspection.records + 1, Number(value.id.slice(1)) + 1);
      const hadFocus = document.activeElement;
      const inForm = byId("command-form").contains(hadFocus);
      this.setValue({ ...value, id: `i${next}` });
      if (inForm) this.submit.focus();
    } catch {
      // No JSON: it has no id.
    }
  }
}

/**
 * @param {{ type: string, description: string }} about
 * @param {CommandState | undefined} state
 * @param {boolean} isChosen
 */
function commandChoice(about, state, isChosen) {
  const isRefused = state !== undefined && !state.allowed;
  const why = state ? (isRefused ? (state.why ?? state.error ?? "refused") : state.disposition) : "";
  return element("label", { class: isRefused ? "command refused" : "command" },
    element("input", { type: "radio", name: "command", value: about.type, checked: isChosen }),
    element("code", {}, about.type), " ", element("span", { class: "why" }, visiblePlainText(why)));
}

/** @param {unknown} failure @returns {Problem[]} */
function problemsOf(failure) {
  if (failure instanceof RequestError && failure.problems.length > 0) return failure.problems;
  return [{ pointer: "", text: failure instanceof Error ? failure.message : String(failure) }];
}

/** @param {Inspection} inspection */
function inboundSchema(inspection) {
  const { protocol } = inspection;
  const names = [...(protocol?.commands ?? []), ...(protocol?.others ?? [])].map((it) => it.definition);
  return { oneOf: names.map((name) => ({ $ref: `#/$defs/${name}` })) };
}
