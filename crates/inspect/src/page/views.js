// Which part of the page is looked at, and the keys that lead from one to the other.

import { byId, typedById } from "./elements.js";

/** Parts of the page in the order of their tabs. The first two are beside the others where there is room. */
const VIEWS = ["conversation", "frames", "send", "chart", "findings", "timing", "report"];

/** What the first two parts put the focus on. */
const FOCUS = { conversation: "conversation", frames: "frame-list" };

/** The tabs, and shortcuts for everything. */
export class Views {
  /**
   * @param {Record<string, () => void>} actions Further keys and what they do.
   */
  constructor(actions) {
    this.actions = actions;
    this.tabs = VIEWS.map((view) => byId(`tab-${view}`));
    this.tabs.forEach((tab, at) => {
      tab.addEventListener("click", () => this.show(VIEWS[at] ?? "send"));
      tab.addEventListener("keydown", (event) => this.onTabKey(event, at));
    });
    document.addEventListener("keydown", (event) => this.onKey(event));
    byId("help-open").addEventListener("click", () => this.help());
    byId("help-close").addEventListener("click", () => typedById("help", HTMLDialogElement).close());
    matchMedia("(min-width: 64rem)").addEventListener("change", () => this.settle());
    this.view = "";
    this.show(this.isWide ? "send" : "conversation");
  }

  /** Whether conversation and frames are beside the other parts. */
  get isWide() {
    return matchMedia("(min-width: 64rem)").matches;
  }

  /** The window has become wide or narrow. */
  settle() {
    this.show(this.isWide && this.view in FOCUS ? "send" : this.view);
  }

  /**
   * Shows a part. Where the first two are shown anyway, choosing them only moves the focus.
   * @param {string} view
   */
  show(view) {
    if (!(this.isWide && view in FOCUS)) {
      this.view = view;
      VIEWS.forEach((it, at) => {
        const isShown = it === view;
        byId(`panel-${it}`).classList.toggle("shown", isShown);
        this.tabs[at]?.setAttribute("aria-selected", String(isShown));
        this.tabs[at]?.setAttribute("tabindex", isShown ? "0" : "-1");
        if (isShown) this.tabs[at]?.scrollIntoView({ block: "nearest", inline: "center" });
      });
      byId(`panel-${view}`).dispatchEvent(new Event("shown"));
    }
  }

  /**
   * Shows a part and moves the focus there.
   * @param {string} view
   */
  open(view) {
    this.show(view);
    byId(view === "conversation" || view === "frames" ? FOCUS[view] : `panel-${view}`).focus();
  }

  /**
   * @param {KeyboardEvent} event
   * @param {number} at
   */
  onTabKey(event, at) {
    const visible = this.tabs.map((tab, place) => (tab.checkVisibility() ? place : -1)).filter((place) => place >= 0);
    const now = visible.indexOf(at);
    /** @type {Record<string, number>} */
    const places = { ArrowRight: now + 1, ArrowLeft: now - 1, Home: 0, End: visible.length - 1 };
    const place = places[event.key];
    if (place === undefined) return;
    event.preventDefault();
    const next = visible[(place + visible.length) % visible.length] ?? at;
    this.show(VIEWS[next] ?? "send");
    this.tabs[next]?.focus();
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return;
    const { target } = event;
    if (target instanceof HTMLElement && target.matches("input:not([type=range], [type=radio], [type=checkbox]), textarea, select")) {
      if (event.key === "Escape") target.blur();
      return;
    }
    const view = VIEWS[Number(event.key) - 1];
    const action = this.actions[event.key];
    if (view) this.open(view);
    else if (event.key === "?") this.help();
    else if (event.key === "/") {
      this.show("frames");
      byId("filter-text").focus();
    } else if (action) action();
    else return;
    event.preventDefault();
  }

  help() {
    typedById("help", HTMLDialogElement).showModal();
  }
}
