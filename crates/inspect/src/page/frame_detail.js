// The selected frame: what it moved, what the judge found, the frame itself, and copies of it.

import { get, getText } from "./api.js";
import { append, button, byId, element, replace } from "./elements.js";
import { announce, copyText } from "./announce.js";
import { findingView } from "./finding_view.js";
import { jsonView } from "./json_view.js";
import { boundedText, formatBytes, formatCount, formatDuration, visiblePlainText } from "./visible_text.js";

/** @import {Inspection} from "./inspection.js" */
/** @import {Copied, RecordDetail} from "./contract" */

/** What a frame can be copied as: the name on the button and that of the request. */
const COPIES = [
  ["JSON", "json"], ["Scenario step", "scenario"], ["Python test", "python"], ["TypeScript test", "typescript"], ["Rust test", "rust"],
];

/** Shows one frame below the list. */
export class FrameDetail {
  /**
   * @param {Inspection} inspection
   * @param {(item: number) => void} showItem
   */
  constructor(inspection, showItem) {
    this.inspection = inspection;
    this.showItem = showItem;
    this.box = byId("frame-detail");
    /** Item of the frame that is shown. @type {number | undefined} */
    this.item = undefined;
    inspection.on(["selected"], () => void this.show(inspection.selected));
    inspection.on(["reset"], () => replace(this.box, element("p", { class: "faint" }, "No frame is selected.")));
  }

  /** @param {number} record */
  async show(record) {
    /** @type {RecordDetail} */
    let detail;
    try {
      detail = await get(`api/records/${record}`);
    } catch (failure) {
      replace(this.box, element("p", { class: "bad" }, visiblePlainText(String(failure))));
      return;
    }
    // Another was selected meanwhile.
    if (this.inspection.selected !== record) return;
    this.item = detail.row.item ?? undefined;
    replace(this.box, this.heading(detail), this.links(detail), ...detail.findings.map((it) => findingView(it, this.inspection)),
      this.copies(detail), this.content(detail));
    this.box.scrollTop = 0;
  }

  /** Shows the frame's item of the conversation. */
  toConversation() {
    if (this.item === undefined) announce("This frame is in no message");
    else this.showItem(this.item);
  }

  /** @param {RecordDetail} detail */
  heading({ row, before, after, transition }) {
    const facts = `${formatDuration(row.t)} after the start, ${formatBytes(row.length)}`;
    const moved = transition
      ? element("p", { class: "moved" }, element("code", {}, visiblePlainText(transition.from)), " → ",
        element("code", {}, visiblePlainText(transition.to)), transition.cut ? " cut by " : " by ", visiblePlainText(transition.by))
      : element("p", { class: "faint" }, before.text === after.text ? "State: " : "State then: ", element("code", {}, visiblePlainText(after.text)));
    return element("header", {},
      element("h3", {}, `${formatCount(row.record)} `, element("span", { class: "kind" }, visiblePlainText(row.kind))),
      element("p", { class: "faint" }, facts), moved);
  }

  /** @param {RecordDetail} detail */
  links({ row }) {
    const box = element("p", { class: "buttons" });
    const { item, cause } = row;
    if (typeof item === "number") append(box, [button("In the conversation", () => this.toConversation())]);
    if (typeof cause === "number") append(box, [button(`Caused by ${formatCount(cause)}`, () => this.inspection.select(cause, "detail"))]);
    append(box, [button("State at this frame", () => void this.inspection.showMoment(row.record))]);
    return box;
  }

  /** @param {RecordDetail} detail */
  copies({ row }) {
    const until = element("input", { type: "number", min: row.record, max: this.inspection.records, value: row.record, "aria-label": "Up to frame" });
    const copy = async (/** @type {string} */ kind, /** @type {string} */ name) => {
      try {
        const to = until.valueAsNumber > row.record ? until.valueAsNumber : undefined;
        /** @type {Copied} */
        const copied = await get(`api/copy/${row.record}`, { as: kind, to });
        await copyText(copied.text, name);
        replace(shown, element("summary", {}, `Copied as ${name}`), boundedText(copied.text, "pre", "text code"));
        shown.hidden = false;
      } catch (failure) {
        announce(failure instanceof Error ? failure.message : String(failure), "bad");
      }
    };
    const buttons = COPIES.map(([name = "", kind = ""]) => button(name, () => void copy(kind, name)));
    const shown = element("details", { hidden: true, class: "copied" });
    return element("div", {}, element("p", { class: "buttons", role: "group", "aria-label": "Copy as" }, element("span", { class: "faint" }, "Copy as"), ...buttons,
      element("label", { class: "faint" }, "up to frame ", until)), shown);
  }

  /** @param {RecordDetail} detail */
  content(detail) {
    const note = detail.shortened ? element("p", { class: "faint" }, "The recorder has shortened long texts in it.") : null;
    if (detail.cut) {
      const whole = button(`Read all ${formatBytes(detail.row.length)}`, async () => {
        const text = await getText(`api/records/${detail.row.record}/text`);
        whole.replaceWith(contentView(text));
      });
      return element("div", {}, note, boundedText(detail.text), whole);
    }
    return element("div", {}, note, contentView(detail.text));
  }
}

/**
 * A line as a tree, or as it is where it is no JSON.
 * @param {string} text
 */
function contentView(text) {
  try {
    return jsonView(JSON.parse(text));
  } catch {
    return boundedText(text);
  }
}
