// One item of the conversation: a message, a tool with its output, a dialog, a notice.

import { get } from "./api.js";
import { append, button, element, replace } from "./elements.js";
import { diffLines } from "./diff.js";
import { imageView } from "./image.js";
import { markdownView } from "./markdown.js";
import { boundedText, firstLine, formatCount, formatDuration, visiblePlainText, visibleText, withoutColours } from "./visible_text.js";

/** @import {Inspection} from "./inspection.js" */
/** @import {Item, Part} from "./contract" */

/** What each kind of item is called. @type {Record<Item["kind"], string>} */
const NAMES = {
  user: "User", assistant: "Assistant", tool: "Tool", shell: "Shell", custom: "Extension", system: "System", dialog: "Dialog",
  notice: "Notice", compaction: "Compaction", retry: "Retry", command: "Command", error: "Error", process: "Process", stderr: "stderr",
};

/** States of items that are no success. */
const FAILURES = new Set(["error", "aborted", "refused", "cancelled"]);

/** Lines of output that are shown unfolded. */
const FEW_LINES = 12;

/** Shows one item, and again when it has changed. Parts that stay the same keep their elements, and with them the focus. */
export class ItemView {
  /**
   * @param {Item} item
   * @param {Inspection} inspection
   */
  constructor(item, inspection) {
    this.inspection = inspection;
    this.item = item;
    /** @type {string[]} JSON of the parts that are drawn. */
    this.drawn = [];
    this.head = element("header", {});
    this.body = element("div", { class: "parts" });
    this.box = element("article", { class: `item ${item.kind}`, id: `item-${item.item}`, tabindex: "-1", "data-item": item.item }, this.head, this.body);
    this.update(item);
  }

  /** @param {Item} item */
  update(item) {
    this.item = item;
    this.box.classList.toggle("open", item.open);
    this.box.classList.toggle("failed", FAILURES.has(item.status ?? ""));
    this.box.setAttribute("aria-label", `${NAMES[item.kind]} ${item.item + 1}`);
    this.drawHead();
    item.parts.forEach((part, at) => {
      const drawn = JSON.stringify(part);
      if (this.drawn[at] === drawn) return;
      const view = this.partView(part, at);
      const old = this.body.children[at];
      if (old instanceof HTMLDetailsElement && view instanceof HTMLDetailsElement) view.open = old.open;
      if (old) old.replaceWith(view);
      else this.body.append(view);
      this.drawn[at] = drawn;
    });
    while (this.body.children.length > item.parts.length) this.body.lastElementChild?.remove();
    this.drawn.length = item.parts.length;
  }

  drawHead() {
    const { item } = this;
    const frames = item.first === item.last ? `Frame ${formatCount(item.first)}` : `Frames ${formatCount(item.first)} to ${formatCount(item.last)}`;
    const hadFocus = this.head.contains(document.activeElement);
    const link = button(frames, () => this.inspection.select(item.first, "conversation"), { class: "link", title: "Show in the list of frames" });
    const title = visiblePlainText(item.title);
    replace(this.head, element("h3", {}, NAMES[item.kind]), title === "" ? null : element("span", { class: "title" }, title),
      item.status ? element("span", { class: FAILURES.has(item.status) ? "status bad" : "faint" }, visiblePlainText(item.status)) : null,
      item.open ? element("span", { class: "status under-way" }, "under way") : null,
      item.findings.length > 0 ? element("span", { class: "row-finding" }, `${item.findings.length} finding${item.findings.length > 1 ? "s" : ""}`) : null,
      element("span", { class: "facts" }, this.facts()), link);
    if (hadFocus) link.focus();
  }

  facts() {
    const { item } = this;
    const facts = [formatDuration(item.t)];
    if (item.until - item.t >= 1) facts.push(`took ${formatDuration(item.until - item.t)}`);
    if (item.model) facts.push(visiblePlainText(item.model));
    if (item.usage) facts.push(`${formatCount(item.usage.output)} tokens out`);
    if (item.usage && item.usage.cost > 0) facts.push(`$${item.usage.cost.toFixed(4)}`);
    return facts.join(", ");
  }

  /**
   * @param {Part} part
   * @param {number} at
   * @returns {HTMLElement}
   */
  partView(part, at) {
    if (part.kind === "image") return imageView(part);
    const cut = part.cut ? this.wholeButton(at) : null;
    switch (part.kind) {
      case "text":
        return element("div", {}, part.markdown ? markdownView(part.text) : boundedText(part.text), cut);
      case "thinking":
        return fold("Thinking", part.text, boundedText(part.text), cut);
      case "call": {
        const { item } = part;
        const link = typeof item !== "number" ? null
          : button("To its output", () => document.getElementById(`item-${item}`)?.focus(), { class: "link" });
        return element("div", { class: "call" }, element("p", {}, "Calls ", element("code", {}, visiblePlainText(part.name)), " ", link),
          boundedText(part.text, "pre", "text code"), cut);
      }
      case "output": {
        const text = withoutColours(part.text);
        if (text.split("\n", FEW_LINES + 1).length <= FEW_LINES) return element("div", {}, boundedText(text, "pre", "text output"), cut);
        return fold("Output", text, boundedText(text, "pre", "text output"), cut);
      }
      case "diff":
        return element("div", {}, part.path ? element("p", { class: "faint" }, visiblePlainText(part.path)) : null,
          boundedText(part.text, "pre", "text diff", diffLines), cut);
      case "json":
        return fold("Details", part.text, boundedText(part.text, "pre", "text code"), cut);
    }
  }

  /**
   * A button that shows the whole of a part that was cut.
   * @param {number} at
   */
  wholeButton(at) {
    const whole = button("Show the whole text", async () => {
      /** @type {Item} */
      const item = await get(`api/items/${this.item.item}`, { at: this.inspection.at });
      const part = item.parts[at];
      if (!part) return;
      // The server cuts at 1 MiB even then.
      const view = this.partView("cut" in part ? { ...part, cut: false } : part, at);
      if (view instanceof HTMLDetailsElement) view.open = true;
      if ("cut" in part && part.cut) append(view, [element("p", { class: "faint" }, "The rest is in its frame.")]);
      this.body.children[at]?.replaceWith(view);
    });
    return whole;
  }
}

/**
 * @param {string} name
 * @param {string} text
 * @param {...(HTMLElement | null)} content
 */
function fold(name, text, ...content) {
  const gist = element("span", { class: "faint" }, visibleText(firstLine(text.slice(0, 400).replace(/\s+/g, " "), 90)));
  return element("details", { class: name.toLowerCase() }, element("summary", {}, `${name}: `, gist), ...content);
}
