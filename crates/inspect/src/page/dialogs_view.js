// Dialogs of the server, as a host would show them: the oldest first, one at a time.

import { send } from "./api.js";
import { announce } from "./announce.js";
import { button, byId, element, freshId, replace } from "./elements.js";
import { resolve } from "./schema.js";
import { boundedText, formatCount, formatDuration, visiblePlainText } from "./visible_text.js";

/** @import {Inspection} from "./inspection.js" */
/** @import {Dialog} from "./contract" */

/** Options of a dialog that are shown at a time. */
const OPTIONS = 100;

/** The dialog that is open. */
export class DialogsView {
  /** @param {Inspection} inspection */
  constructor(inspection) {
    this.inspection = inspection;
    this.box = /** @type {HTMLDialogElement} */ (byId("dialog"));
    /** Record of the dialog that is shown; a server may use ids again. @type {number | undefined} */
    this.shown = undefined;
    /** Records of dialogs that are put aside. @type {Set<number>} */
    this.aside = new Set();
    /** What had the focus before. @type {Element | null} */
    this.before = null;
    inspection.on(["commands", "moment", "session"], () => this.draw());
    byId("dialogs-waiting").addEventListener("click", () => {
      this.aside.clear();
      this.draw(true);
    });
    this.box.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      this.putAside();
    });
  }

  /** @param {boolean} [isWanted] by the user, who then gets the focus moved there */
  draw(isWanted = false) {
    const dialogs = this.inspection.moment?.dialogs ?? this.inspection.dialogs;
    const waiting = byId("dialogs-waiting");
    waiting.hidden = dialogs.length === 0;
    replace(waiting, `${formatCount(dialogs.length)} dialog${dialogs.length === 1 ? "" : "s"} open`);
    const next = dialogs.find((it) => !this.aside.has(it.record));
    if (!next) {
      this.close();
      return;
    }
    if (next.record === this.shown) return;
    this.shown = next.record;
    replace(this.box, ...this.content(next, dialogs.length));
    if (!this.box.open) {
      this.before = document.activeElement;
      this.box.show();
    }
    // Whoever types elsewhere goes on typing.
    const isTyping = document.activeElement?.matches("input, textarea, select") && !this.box.contains(document.activeElement);
    if (isWanted || !isTyping) this.focusFirst();
  }

  focusFirst() {
    const first = this.box.querySelector("input, textarea, button");
    if (first instanceof HTMLElement) first.focus();
  }

  close() {
    this.shown = undefined;
    if (!this.box.open) return;
    const hadFocus = this.box.contains(document.activeElement);
    this.box.close();
    if (hadFocus && this.before instanceof HTMLElement && this.before.isConnected) this.before.focus();
  }

  putAside() {
    if (this.shown !== undefined) this.aside.add(this.shown);
    this.shown = undefined;
    this.close();
    this.draw();
  }

  /**
   * @param {Dialog} dialog
   * @param {number} count
   * @returns {Node[]}
   */
  content(dialog, count) {
    const heading = freshId("dialog");
    this.box.setAttribute("aria-labelledby", heading);
    const title = dialog.title ?? dialog.message ?? dialog.method;
    const facts = [visiblePlainText(dialog.method)];
    if (typeof dialog.timeout === "number") facts.push(`closes ${formatDuration(dialog.timeout)} after it was opened`);
    if (count > 1) facts.push(`${formatCount(count - 1)} more`);
    /** @type {Node[]} */
    const nodes = [element("h2", { id: heading }, visiblePlainText(title).slice(0, 500))];
    if (dialog.message && dialog.message !== title) nodes.push(boundedText(dialog.message, "p", "text"));
    nodes.push(element("p", { class: "faint" }, `${facts.join(", ")} `,
      button(`frame ${formatCount(dialog.record)}`, () => this.inspection.select(dialog.record, "dialog"), { class: "link" })));
    if (!(this.inspection.session?.sends ?? false) || this.inspection.moment) {
      nodes.push(element("p", {}, "It waits for the host; from here it cannot be answered."), button("Close", () => this.putAside()));
      return nodes;
    }
    nodes.push(this.answers(dialog), element("p", { class: "buttons" },
      button("Cancel", () => void this.respond(dialog, { cancelled: true })), button("Later", () => this.putAside())));
    return nodes;
  }

  /**
   * The controls that answer a dialog; the schema of its response says which there are.
   * @param {Dialog} dialog
   * @returns {HTMLElement}
   */
  answers(dialog) {
    const member = dialog.answer ?? "value";
    const schema = resolve(this.inspection.definitions[dialog.definition]?.["properties"]?.[member], this.inspection.definitions);
    if (schema["type"] === "boolean") {
      return element("p", { class: "buttons" }, button("Yes", () => void this.respond(dialog, { [member]: true })),
        button("No", () => void this.respond(dialog, { [member]: false })));
    }
    if (dialog.options) return this.options(dialog, dialog.options, member);
    const isLong = typeof dialog.prefill === "string" || dialog.method === "editor";
    const field = isLong ? element("textarea", { rows: 6 }) : element("input", { type: "text" });
    field.value = dialog.prefill ?? "";
    field.setAttribute("aria-label", "Answer");
    if (dialog.placeholder) field.setAttribute("placeholder", visiblePlainText(dialog.placeholder).slice(0, 200));
    return element("form", { onsubmit: (event) => {
      event.preventDefault();
      void this.respond(dialog, { [member]: field.value });
    } }, field, element("button", { type: "submit" }, "OK"));
  }

  /**
   * @param {Dialog} dialog
   * @param {string[]} options
   * @param {string} member of the response
   */
  options(dialog, options, member) {
    const list = element("div", { class: "options", role: "group", "aria-label": "Options" });
    const show = (/** @type {number} */ from) => {
      for (const option of options.slice(from, from + OPTIONS)) {
        list.append(button(visiblePlainText(option).slice(0, 300) || "(empty)", () => void this.respond(dialog, { [member]: option })));
      }
      if (options.length <= from + OPTIONS) return;
      const more = button(`More (${formatCount(options.length - from - OPTIONS)})`, () => {
        more.remove();
        show(from + OPTIONS);
      });
      list.append(more);
    };
    show(0);
    return list;
  }

  /**
   * @param {Dialog} dialog
   * @param {Record<string, unknown>} answer
   */
  async respond(dialog, answer) {
    try {
      const type = this.inspection.definitions[dialog.definition]?.["properties"]?.type?.const ?? "extension_ui_response";
      await send("POST", "api/send", { line: JSON.stringify({ type, id: dialog.id, ...answer }) });
      announce("Answered");
    } catch (failure) {
      announce(failure instanceof Error ? failure.message : String(failure), "bad");
    }
  }
}
