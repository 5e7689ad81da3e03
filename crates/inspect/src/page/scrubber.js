// Steps through a recording: the whole page shows the moment after one frame.

import { get } from "./api.js";
import { announce } from "./announce.js";
import { byId, onNextFrame, replace, typedById } from "./elements.js";
import { formatCount, formatDuration, visiblePlainText } from "./visible_text.js";

/** @import {Inspection} from "./inspection.js" */
/** @import {RecordPage} from "./contract" */

/** The slider over all frames, with its buttons. */
export class Scrubber {
  /** @param {Inspection} inspection */
  constructor(inspection) {
    this.inspection = inspection;
    this.slider = typedById("scrubber", HTMLInputElement);
    this.draw = onNextFrame(() => this.show());
    /** The record that is wanted while another is read. @type {number | undefined} */
    this.wanted = undefined;
    this.isReading = false;
    inspection.on(["session", "progress", "moment"], this.draw);
    this.slider.addEventListener("input", () => void this.go(this.slider.valueAsNumber));
    byId("step-back").addEventListener("click", () => void this.step(-1));
    byId("step-on").addEventListener("click", () => void this.step(1));
    byId("change-back").addEventListener("click", () => void this.find({ changes: 1 }, -1));
    byId("change-on").addEventListener("click", () => void this.find({ changes: 1 }, 1));
    byId("finding-on").addEventListener("click", () => void this.find({ findings: 1 }, 1));
    byId("to-now").addEventListener("click", () => {
      this.wanted = undefined;
      void inspection.showMoment(undefined);
    });
  }

  /** The record at which the page stands. */
  get place() {
    return this.wanted ?? this.inspection.at ?? this.inspection.records;
  }

  /** @param {number} by */
  step(by) {
    return this.go(this.place + by);
  }

  /**
   * Shows the moment after a record. While one is read, only the latest wish waits.
   * @param {number} record
   */
  async go(record) {
    this.wanted = Math.max(0, Math.min(record, this.inspection.records));
    if (this.isReading) return;
    this.isReading = true;
    try {
      while (this.wanted !== undefined) {
        const { wanted } = this;
        await this.inspection.showMoment(wanted);
        if (wanted > 0) this.inspection.select(wanted, "scrubber");
        if (this.wanted === wanted) this.wanted = undefined;
      }
    } catch (failure) {
      this.wanted = undefined;
      announce(String(failure), "bad");
    } finally {
      this.isReading = false;
    }
  }

  /**
   * Goes to the next record that a filter finds, or to the one before.
   * @param {Record<string, number>} filter
   * @param {1 | -1} direction
   */
  async find(filter, direction) {
    const from = this.place + direction;
    /** @type {RecordPage} */
    const page = await get("api/records", { ...filter, from, count: 1, back: direction < 0 ? 1 : undefined });
    const row = page.rows[0];
    if (row && from > 0) await this.go(row.record);
    else announce("No more of them in this direction");
  }

  show() {
    const { inspection } = this;
    const { records, moment } = inspection;
    this.slider.max = String(records);
    if (document.activeElement !== this.slider || !moment || this.slider.valueAsNumber !== this.place) this.slider.value = String(this.place);
    const at = moment ? `after frame ${formatCount(moment.record)} of ${formatCount(records)}, ${formatDuration(moment.t)}` : `now, after frame ${formatCount(records)}`;
    this.slider.setAttribute("aria-valuetext", `${at}, ${inspection.shownState ? visiblePlainText(inspection.shownState.text) : ""}`);
    replace(byId("moment"), at);
    byId("to-now").hidden = moment === undefined;
    document.body.classList.toggle("past", moment !== undefined);
  }
}
