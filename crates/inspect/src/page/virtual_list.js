// Shows a list of any length with only the visible rows in the document. Rows have one height; one of them is selected.

import { element, freshId, onNextFrame } from "./elements.js";

/** The tallest content that browsers lay out reliably, in pixels. Longer lists are scrolled in proportion. */
const TALLEST = 8_000_000;

/** Rows that are kept above and below the visible ones. */
const MARGIN = 12;

/**
 * @typedef {object} Source
 * @property {(position: number, row: HTMLElement) => void} render Fills the row at a position.
 * @property {(position: number) => void} select Is called when a row is selected by the user.
 * @property {(position: number) => void} open Is called when Enter is pressed on the selected row.
 * @property {(from: number, count: number) => void} visible Is called with the rows that are about to be shown.
 */

/** A listbox with rows of one height. */
export class VirtualList {
  /**
   * @param {HTMLElement} box Scrolls, and has the keyboard focus.
   * @param {number} rowHeight In pixels.
   * @param {Source} source
   */
  constructor(box, rowHeight, source) {
    this.box = box;
    this.rowHeight = rowHeight;
    this.source = source;
    this.total = 0;
    this.selected = -1;
    /** Whether the end is followed while rows are added. */
    this.follows = false;
    /** Position of the first visible row, with its fraction. */
    this.top = 0;
    this.content = element("div", { class: "list-content", role: "presentation" });
    /** @type {Map<number, HTMLElement>} */
    this.rows = new Map();
    this.prefix = freshId("row");
    box.append(this.content);
    box.tabIndex = 0;
    box.setAttribute("role", "listbox");
    this.schedule = onNextFrame(() => this.draw());
    box.addEventListener("scroll", () => this.onScroll());
    box.addEventListener("wheel", (event) => this.onWheel(event), { passive: false });
    box.addEventListener("keydown", (event) => this.onKey(event));
    this.content.addEventListener("click", (event) => this.onClick(event));
    new ResizeObserver(this.schedule).observe(box);
  }

  /** Height of the whole list, as far as it is laid out. */
  get height() {
    return Math.min(this.total * this.rowHeight, TALLEST);
  }

  /** Number of rows that fit. */
  get page() {
    return Math.max(1, Math.floor(this.box.clientHeight / this.rowHeight));
  }

  /** Whether the list is longer than browsers can lay out. */
  get isScaled() {
    return this.total * this.rowHeight > TALLEST;
  }

  /** The position of the first row at the lowest place of the scroll bar. */
  get lastTop() {
    return Math.max(0, this.total - this.box.clientHeight / this.rowHeight);
  }

  /**
   * Sets the number of rows.
   * @param {number} total
   */
  resize(total) {
    if (total === this.total) return;
    const wasAtEnd = this.follows;
    this.total = total;
    this.content.style.height = `${this.height}px`;
    if (this.selected >= total) this.selected = -1;
    if (wasAtEnd) this.scrollTo(this.lastTop);
    this.schedule();
  }

  /** Draws all visible rows again. */
  refresh() {
    for (const row of this.rows.values()) row.remove();
    this.rows.clear();
    this.schedule();
  }

  /**
   * Selects a row and brings it into view, without calling `select`.
   * @param {number} position
   */
  show(position) {
    this.mark(position);
    const visible = this.box.clientHeight / this.rowHeight;
    if (position < this.top || position > this.top + visible - 1) {
      this.follows = false;
      this.scrollTo(Math.min(this.lastTop, Math.max(0, position - visible / 2)));
    }
    this.schedule();
  }

  /**
   * Scrolls so that the row at this position is the first.
   * @param {number} top
   */
  scrollTo(top) {
    this.top = Math.max(0, Math.min(top, this.lastTop));
    this.expectedScroll = this.scrollOf(this.top);
    this.box.scrollTop = this.expectedScroll;
    this.expectedScroll = this.box.scrollTop;
    this.schedule();
  }

  /** @param {number} top */
  scrollOf(top) {
    if (!this.isScaled) return top * this.rowHeight;
    return (top / this.lastTop) * (TALLEST - this.box.clientHeight);
  }

  onScroll() {
    const scroll = this.box.scrollTop;
    // The scroll that `scrollTo` has caused itself is less exact than `top`.
    if (this.expectedScroll === undefined || Math.abs(scroll - this.expectedScroll) > 1) {
      this.expectedScroll = undefined;
      this.top = this.isScaled ? (scroll / (TALLEST - this.box.clientHeight)) * this.lastTop : scroll / this.rowHeight;
      this.follows = this.total > 0 && this.top >= this.lastTop - 1;
    }
    this.schedule();
  }

  /** @param {WheelEvent} event */
  onWheel(event) {
    if (!this.isScaled) return;
    event.preventDefault();
    const pixels = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? event.deltaY * this.rowHeight : event.deltaY;
    this.scrollTo(this.top + pixels / this.rowHeight);
    this.follows = this.top >= this.lastTop - 1;
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    if (event.target !== this.box || event.ctrlKey || event.altKey || event.metaKey || this.total === 0) return;
    const at = this.selected;
    /** @type {Record<string, number>} */
    const places = {
      ArrowDown: at + 1, ArrowUp: at < 0 ? this.total - 1 : at - 1, Home: 0, End: this.total - 1,
      PageDown: at + this.page, PageUp: at - this.page,
    };
    const place = places[event.key];
    if (place !== undefined) {
      event.preventDefault();
      this.follows = event.key === "End";
      this.choose(Math.max(0, Math.min(place, this.total - 1)));
    } else if (event.key === "Enter" && at >= 0) {
      event.preventDefault();
      this.source.open(at);
    }
  }

  /** @param {Event} event */
  onClick(event) {
    const row = event.target instanceof Element ? event.target.closest("[role=option]") : null;
    const position = row instanceof HTMLElement ? Number(row.dataset["position"]) : NaN;
    if (!Number.isNaN(position)) this.choose(position);
  }

  /** @param {number} position */
  choose(position) {
    this.show(position);
    this.source.select(position);
  }

  /** @param {number} position */
  mark(position) {
    this.rows.get(this.selected)?.setAttribute("aria-selected", "false");
    this.selected = position;
    this.rows.get(position)?.setAttribute("aria-selected", "true");
  }

  draw() {
    const height = this.box.clientHeight;
    if (height === 0) return;
    if (this.follows) this.top = this.lastTop;
    const first = Math.max(0, Math.floor(this.top) - MARGIN);
    const last = Math.min(this.total, Math.ceil(this.top + height / this.rowHeight) + MARGIN);
    for (const [position, row] of this.rows) {
      if (position >= first && position < last) continue;
      row.remove();
      this.rows.delete(position);
    }
    this.source.visible(first, last - first);
    // Rows are placed relative to what is visible, as a scaled scroll bar has no room for each of them.
    const offset = this.box.scrollTop - this.top * this.rowHeight;
    /** @type {HTMLElement[]} */
    const added = [];
    for (let position = first; position < last; position += 1) {
      let row = this.rows.get(position);
      if (!row) {
        row = this.createRow(position);
        this.rows.set(position, row);
        added.push(row);
      }
      row.style.transform = `translateY(${Math.round(position * this.rowHeight + offset)}px)`;
      row.setAttribute("aria-setsize", String(this.total));
    }
    if (added.length > 0) this.place(added);
    const active = this.rows.get(this.selected);
    if (active) this.box.setAttribute("aria-activedescendant", active.id);
    else this.box.removeAttribute("aria-activedescendant");
  }

  /**
   * Puts new rows into the document in the order of their positions.
   * @param {HTMLElement[]} added
   */
  place(added) {
    if (added.length === this.rows.size) this.content.replaceChildren(...added);
    else {
      for (const row of added.reverse()) {
        const next = this.rows.get(Number(row.dataset["position"]) + 1);
        this.content.insertBefore(row, next && next.parentNode ? next : null);
      }
    }
  }

  /** @param {number} position */
  createRow(position) {
    const row = element("div", {
      role: "option", id: `${this.prefix}-${position}`, class: "row", "data-position": position,
      "aria-posinset": position + 1, "aria-selected": position === this.selected,
    });
    row.style.height = `${this.rowHeight}px`;
    this.source.render(position, row);
    return row;
  }

  /** Fills the visible rows again, for example once their content has come. */
  fill() {
    for (const [position, row] of this.rows) this.source.render(position, row);
  }
}
