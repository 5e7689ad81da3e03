// The conversation as people read it. A part of it is in the document; the rest comes when it is scrolled to.

import { get } from "./api.js";
import { byId, element, onNextFrame, replace, typedById } from "./elements.js";
import { ItemView } from "./item_view.js";
import { formatCount, visiblePlainText } from "./visible_text.js";

/** @import {Inspection} from "./inspection.js" */
/** @import {Item, ItemPage} from "./contract" */

/** Items of one request, and items that stay in the document. */
const [PAGE, MOST] = [40, 160];

/** Pixels from the end within which the conversation follows what is new. */
const NEAR = 60;

/** Shows items `from` up to `until` of the conversation. */
export class ConversationView {
  /** @param {Inspection} inspection */
  constructor(inspection) {
    this.inspection = inspection;
    this.box = byId("conversation");
    this.list = byId("items");
    this.earlier = typedById("items-earlier", HTMLButtonElement);
    this.later = typedById("items-later", HTMLButtonElement);
    /** @type {Map<number, ItemView>} */
    this.views = new Map();
    this.from = 0;
    this.until = 0;
    this.total = 0;
    this.follows = true;
    this.isLoading = false;
    /** Changes when everything is drawn anew, so that late answers are recognised. */
    this.generation = 0;
    this.draw = onNextFrame(() => this.takeLatest());
    this.listen();
  }

  listen() {
    const { inspection } = this;
    this.earlier.addEventListener("click", () => void this.loadEarlier());
    this.later.addEventListener("click", () => void this.loadLater());
    this.box.addEventListener("scroll", () => {
      this.follows = this.until >= this.total && this.box.scrollTop + this.box.clientHeight > this.box.scrollHeight - NEAR;
    });
    // What the buttons do happens by itself when they are scrolled to.
    const seen = new IntersectionObserver((entries) => {
      for (const entry of entries) if (entry.isIntersecting && entry.target instanceof HTMLElement) entry.target.click();
    }, { root: this.box, rootMargin: "200px" });
    seen.observe(this.earlier);
    seen.observe(this.later);
    typedById("items-all", HTMLInputElement).addEventListener("change", (event) => {
      this.list.classList.toggle("everything", event.target instanceof HTMLInputElement && event.target.checked);
    });
    inspection.on(["progress"], this.draw);
    inspection.on(["reset", "moment"], () => void this.loadEnd());
    inspection.on(["selected"], () => {
      if (inspection.selectedBy !== "conversation") void this.markRecord();
    });
  }

  /** Reads the end of the conversation. */
  async loadEnd() {
    this.generation += 1;
    const { generation } = this;
    const at = this.inspection.at;
    /** @type {ItemPage} */
    const last = await get("api/items", { from: 0, count: 1, at });
    const from = Math.max(0, last.total - PAGE);
    await this.load(from, generation);
    this.follows = true;
    this.scrollToEnd();
  }

  /**
   * Reads a page as the only one.
   * @param {number} from
   * @param {number} generation
   */
  async load(from, generation) {
    /** @type {ItemPage} */
    const page = await get("api/items", { from, count: PAGE, at: this.inspection.at });
    if (generation !== this.generation) return;
    this.views.clear();
    this.total = page.total;
    this.from = from;
    this.until = from;
    replace(this.list);
    this.append(page.items);
    this.showEnds();
  }

  async loadEarlier() {
    if (this.isLoading || this.from === 0) return;
    this.isLoading = true;
    const { generation } = this;
    const from = Math.max(0, this.from - PAGE);
    try {
      /** @type {ItemPage} */
      const page = await get("api/items", { from, count: this.from - from, at: this.inspection.at });
      if (generation !== this.generation) return;
      const views = page.items.map((item) => this.view(item).box);
      const height = this.box.scrollHeight;
      this.list.prepend(...views);
      this.from = from;
      this.box.scrollTop += this.box.scrollHeight - height;
      this.trimEnd();
      this.showEnds();
    } finally {
      this.isLoading = false;
    }
  }

  async loadLater() {
    if (this.isLoading || this.until >= this.total) return;
    this.isLoading = true;
    const { generation } = this;
    try {
      /** @type {ItemPage} */
      const page = await get("api/items", { from: this.until, count: PAGE, at: this.inspection.at });
      if (generation !== this.generation) return;
      this.total = page.total;
      this.append(page.items);
      this.trimStart();
      this.showEnds();
    } finally {
      this.isLoading = false;
    }
  }

  /** Takes in the items of the latest update. */
  takeLatest() {
    const { inspection } = this;
    if (inspection.moment) return;
    this.total = inspection.totals?.items ?? 0;
    const fresh = inspection.latest.items;
    for (const item of fresh) this.views.get(item.item)?.update(item);
    if (this.follows) {
      this.append(fresh.filter((item) => item.item >= this.until));
      // Some were left out: they are read.
      if (this.until < this.total && !this.isLoading) void this.catchUp();
      this.trimStart();
      this.scrollToEnd();
    }
    this.showEnds();
  }

  /** Reads what updates have left out, or the end of the conversation if that is much. */
  async catchUp() {
    if (this.total - this.until > MOST) await this.loadEnd();
    else await this.loadLater();
    this.scrollToEnd();
  }

  /**
   * Appends items that follow those that are there.
   * @param {Item[]} items
   */
  append(items) {
    for (const item of items) {
      if (item.item !== this.until) continue;
      this.list.append(this.view(item).box);
      this.until += 1;
    }
  }

  /** @param {Item} item */
  view(item) {
    const view = new ItemView(item, this.inspection);
    this.views.set(item.item, view);
    return view;
  }

  trimStart() {
    const height = this.box.scrollHeight;
    while (this.until - this.from > MOST) this.drop(this.from++);
    if (!this.follows) this.box.scrollTop -= height - this.box.scrollHeight;
  }

  trimEnd() {
    while (this.until - this.from > MOST) this.drop(--this.until);
  }

  /** @param {number} item */
  drop(item) {
    this.views.get(item)?.box.remove();
    this.views.delete(item);
  }

  showEnds() {
    this.earlier.hidden = this.from === 0;
    this.later.hidden = this.until >= this.total;
    this.earlier.textContent = `Earlier (${formatCount(this.from)})`;
    this.later.textContent = `Later (${formatCount(this.total - this.until)})`;
    const none = byId("items-none");
    none.hidden = this.list.querySelector(":scope > :not(.command, .process)") !== null;
    const { session } = this.inspection;
    none.textContent = session?.sends ? "Nothing was said yet. Write a message below, or send any command." : "No messages are here.";
  }

  scrollToEnd() {
    if (this.follows) this.box.scrollTop = this.box.scrollHeight;
  }

  /**
   * Brings an item into view and gives it the focus.
   * @param {number} item
   */
  async showItem(item) {
    await this.bring(item);
    const box = this.views.get(item)?.box;
    if (!box) return;
    this.list.classList.toggle("everything", this.list.classList.contains("everything") || !box.checkVisibility());
    typedById("items-all", HTMLInputElement).checked = this.list.classList.contains("everything");
    box.scrollIntoView({ block: "nearest" });
    box.focus({ preventScroll: true });
  }

  /** @param {number} item */
  async bring(item) {
    this.follows = false;
    if (this.views.has(item)) return;
    this.generation += 1;
    await this.load(Math.max(0, item - PAGE / 2), this.generation);
  }

  /** Marks the item of the selected record, and brings it into view. */
  async markRecord() {
    const record = this.inspection.selected;
    for (const marked of this.list.querySelectorAll(".marked")) marked.classList.remove("marked");
    /** @type {{ row: { item?: number } }} */
    const { row } = await get(`api/records/${record}`);
    if (this.inspection.selected !== record || row.item === undefined) return;
    if (this.views.has(row.item) || !this.follows || !this.inspection.session?.live) await this.bring(row.item);
    const box = this.views.get(row.item)?.box;
    box?.classList.add("marked");
    if (box?.checkVisibility()) box.scrollIntoView({ block: "nearest" });
  }

  /** @param {unknown} failure */
  fail(failure) {
    replace(this.list, element("p", { class: "bad" }, visiblePlainText(String(failure))));
  }
}
