// The list of frames, with filters and search.

import { byId, element, onNextFrame, replace, typedById } from "./elements.js";
import { RecordStore } from "./record_store.js";
import { VirtualList } from "./virtual_list.js";
import { formatBytes, formatCount, visiblePlainText } from "./visible_text.js";

/** @import {Inspection} from "./inspection.js" */
/** @import {RecordRow} from "./contract" */

/** Height of a row in pixels, as `style.css` has it. */
const ROW = 24;

/** Milliseconds without a key until a search starts. */
const PAUSE = 150;

/** What stands for the direction of a record, and its name for screen readers. */
const DIRECTIONS = { in: ["→", "from host"], out: ["←", "from server"], err: ["!", "stderr"], meta: ["·", "process"] };

/** The list of frames beside its filters. */
export class FramesView {
  /** @param {Inspection} inspection */
  constructor(inspection) {
    this.inspection = inspection;
    this.store = new RecordStore(onNextFrame(() => this.onStore()));
    this.list = new VirtualList(byId("frame-list"), ROW, {
      render: (position, row) => this.renderRow(position, row),
      select: (position) => this.select(position),
      open: () => byId("frame-detail").focus(),
      visible: (from, count) => void this.store.ensure(from, count),
    });
    this.list.follows = true;
    this.form = typedById("frame-filters", HTMLFormElement);
    this.follow = typedById("frames-follow", HTMLInputElement);
    this.listen();
    this.applyFilter();
  }

  listen() {
    let pause = 0;
    this.form.addEventListener("input", () => {
      clearTimeout(pause);
      pause = setTimeout(() => this.applyFilter(), PAUSE);
    });
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      clearTimeout(pause);
      this.applyFilter();
      byId("frame-list").focus();
    });
    this.form.addEventListener("reset", () => setTimeout(() => this.applyFilter()));
    this.follow.addEventListener("change", () => {
      this.list.follows = this.follow.checked;
      this.list.schedule();
    });
    const inspection = this.inspection;
    inspection.on(["session", "progress"], () => {
      this.store.grow(inspection.records, inspection.latest.rows);
      this.onStore();
    });
    inspection.on(["reset"], () => {
      this.store.reset();
      this.list.refresh();
    });
    inspection.on(["protocol"], () => this.fillKinds());
    inspection.on(["selected"], () => {
      if (inspection.selectedBy !== "frames") void this.showRecord(inspection.selected);
    });
  }

  fillKinds() {
    const select = typedById("filter-kind", HTMLSelectElement);
    const chosen = select.value;
    const kinds = this.inspection.protocol?.kinds ?? [];
    replace(select, element("option", { value: "" }, "every kind"), ...kinds.map((kind) => element("option", { value: kind }, kind)));
    select.value = kinds.includes(chosen) ? chosen : "";
  }

  /** Filters the list by what the form says. Updates are folded unless texts are searched, which any of them may have. */
  applyFilter() {
    const data = new FormData(this.form);
    const text = String(data.get("text") ?? "");
    const isRegex = data.get("regex") === "on";
    const filter = {
      text: isRegex ? undefined : text || undefined,
      regex: isRegex ? text || undefined : undefined,
      dir: String(data.get("dir") ?? "") || undefined,
      kind: String(data.get("kind") ?? "") || undefined,
      fold: data.get("fold") === "on" && !text ? 1 : undefined,
      hide: data.get("deltas") === "on" ? "message_update,tool_execution_update" : undefined,
      findings: data.get("findings") === "on" ? 1 : undefined,
      changes: data.get("changes") === "on" ? 1 : undefined,
    };
    if (JSON.stringify(filter) === JSON.stringify(this.store.filter)) return;
    this.store.setFilter(filter);
    this.list.refresh();
    this.list.mark(-1);
    this.list.scrollTo(this.list.follows ? this.list.lastTop : 0);
  }

  onStore() {
    const { store, list } = this;
    list.resize(store.total);
    list.fill();
    list.schedule();
    this.follow.checked = list.follows;
    const failure = store.failure instanceof Error ? visiblePlainText(store.failure.message) : "";
    const [total, records, folds] = [formatCount(store.total), formatCount(store.records), store.filter["fold"]];
    let text = `${records} frames`;
    if (store.isFiltered && store.total !== store.records) text = folds ? `${total} rows of ${records} frames` : `${total} of ${records} frames`;
    if (!store.isComplete && !failure) text += ", searching";
    replace(byId("frame-count"), failure || text);
    byId("frame-list").classList.toggle("empty", store.total === 0);
  }

  /** @param {number} position */
  select(position) {
    const record = this.store.recordAt(position);
    if (record !== undefined) this.inspection.select(record, "frames");
  }

  /**
   * Brings a record into view. If the filter hides it, the filter is dropped.
   * @param {number} record
   */
  async showRecord(record) {
    let position = await this.store.positionOf(record);
    if (position < 0) {
      this.form.reset();
      this.applyFilter();
      position = await this.store.positionOf(record);
    }
    if (position < 0) return;
    this.list.resize(this.store.total);
    this.list.show(position);
  }

  /**
   * @param {number} position
   * @param {HTMLElement} row
   */
  renderRow(position, row) {
    const record = this.store.rows.get(position);
    if (!record) {
      if (row.childElementCount === 0) replace(row, element("span", { class: "row-number" }, formatCount(position + 1)), "…");
      return;
    }
    const shown = `${record.record} ${record.last ?? ""}`;
    if (row.dataset["shown"] === shown) return;
    row.dataset["shown"] = shown;
    row.dataset["record"] = String(record.record);
    row.dataset["dir"] = record.dir;
    row.classList.toggle("has-finding", record.findings.length > 0);
    replace(row, ...rowParts(record));
  }
}

/**
 * @param {RecordRow} record
 * @returns {HTMLElement[]}
 */
function rowParts(record) {
  const [sign, name] = DIRECTIONS[record.dir];
  const parts = [
    element("span", { class: "row-number" }, formatCount(record.record)),
    element("span", { class: "row-time" }, (record.t / 1000).toFixed(3)),
    element("span", { class: "row-dir" }, element("span", { "aria-hidden": "true" }, sign), element("span", { class: "unseen" }, name)),
    element("span", { class: "row-kind" }, visiblePlainText(record.kind)),
  ];
  if (record.from !== undefined) parts.push(element("span", { class: "row-state" }, `→ ${visiblePlainText(record.state)}`));
  if (record.findings.length > 0) {
    const count = record.findings.length === 1 ? "1 finding" : `${record.findings.length} findings`;
    parts.push(element("span", { class: "row-finding" }, count));
  }
  if (typeof record.last === "number") parts.push(element("span", { class: "row-count" }, `× ${formatCount(record.last - record.record + 1)}`));
  parts.push(element("span", { class: "row-text" }, visiblePlainText(record.text)));
  if (!record.whole) parts.push(element("span", { class: "row-length" }, formatBytes(record.length)));
  return parts;
}
