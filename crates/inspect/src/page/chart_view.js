// The chart, live: the state is lit, the transition just taken is marked, and a line says by what it was taken.

import { getText } from "./api.js";
import { button, byId, element, onNextFrame, replace } from "./elements.js";
import { StatesView } from "./states_view.js";
import { formatCount, visiblePlainText } from "./visible_text.js";

/** @import {Inspection} from "./inspection.js" */

const SVG = "http://www.w3.org/2000/svg";

/** What of the drawing is taken over: elements, and their attributes. */
const ELEMENTS = new Set(["svg", "g", "defs", "marker", "path", "rect", "circle", "text"]);
const ATTRIBUTES = new Set([
  "class", "id", "viewBox", "d", "x", "y", "cx", "cy", "r", "rx", "width", "height", "transform", "text-anchor", "marker-end", "refX", "refY",
  "markerWidth", "markerHeight", "orient", "data-state", "data-from", "data-to", "data-region",
]);

/** Draws the chart of the dialect and keeps it current. */
export class ChartView {
  /** @param {Inspection} inspection */
  constructor(inspection) {
    this.inspection = inspection;
    this.box = byId("chart");
    this.states = new StatesView(byId("states"));
    /** The drawing of this dialect. @type {string | undefined} */
    this.dialect = undefined;
    this.draw = onNextFrame(() => this.light());
    const wide = byId("chart-wide");
    wide.addEventListener("click", () => {
      const isWide = document.body.classList.toggle("wide-chart");
      wide.setAttribute("aria-pressed", String(isWide));
    });
    byId("panel-chart").addEventListener("shown", this.draw);
    inspection.on(["protocol"], () => void this.load());
    inspection.on(["progress", "moment", "session"], this.draw);
  }

  async load() {
    const { protocol } = this.inspection;
    if (!protocol || protocol.dialect === this.dialect) return;
    const { dialect } = protocol;
    this.dialect = dialect;
    this.states.load(protocol);
    this.light();
    // The page has its own colours; those of the drawing would be refused by its policy.
    const text = (await getText("api/chart.svg")).replace(/<style>.*?<\/style>/s, "");
    const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
    const drawing = adopt(parsed.documentElement);
    if (!drawing) return;
    drawing.setAttribute("role", "img");
    drawing.setAttribute("aria-label", `States of ${dialect}. The state and the latest transition are said above.`);
    replace(this.box, drawing);
    this.light();
  }

  /** Lights what is the case now, or at the moment that is shown. */
  light() {
    const { shownState: state, shownTransition: step } = this.inspection;
    if (!state) return;
    replace(byId("chart-state"), visiblePlainText(state.text));
    this.showTransition(step);
    this.showRegions();
    const [outer = ""] = state.flow.split(".");
    /** @type {[string, string][]} */
    const lit = [["flow", outer], ["flow", state.flow], ...this.regionStates(state)];
    this.states.light(lit, step?.from);
    for (const old of this.box.querySelectorAll(".lit")) old.classList.remove("lit");
    for (const [region, name] of lit) this.lightState(region, name);
    if (step) this.lightTransition(step.from, step.to);
    this.scrollToState();
  }

  /** Brings the lit state into view, sideways only. */
  scrollToState() {
    const lit = [...this.box.querySelectorAll("[data-region=flow] .state.lit")].at(-1);
    if (!lit || !this.box.checkVisibility()) return;
    const [place, around] = [lit.getBoundingClientRect(), this.box.getBoundingClientRect()];
    if (place.left < around.left || place.right > around.right) this.box.scrollLeft += place.left - around.left - 40;
  }

  /**
   * The states of the regions beside the flow: dialogs and shell commands count from one on; the input is open until its end.
   * @param {{ dialogs: number, shells: number, closing: boolean }} state
   * @returns {[string, string][]}
   */
  regionStates(state) {
    const regions = this.inspection.protocol?.regions ?? [];
    const end = regions.find((it) => it.name === "input")?.transitions.find((it) => it.on === "end of input");
    return [
      ["asks", state.dialogs > 0 ? "awaiting_ui" : "none"],
      ["shell", state.shells > 0 ? "bash" : "idle"],
      ["switch", "steady"],
      ["input", (state.closing ? end?.to : end?.from) ?? ""],
    ];
  }

  /**
   * @param {string} region
   * @param {string} name
   */
  lightState(region, name) {
    const found = this.box.querySelectorAll(`[data-region="${CSS.escape(region)}"] .state[data-state="${CSS.escape(name)}"]`);
    for (const state of found) state.classList.add("lit");
  }

  /**
   * @param {string} from
   * @param {string} to
   */
  lightTransition(from, to) {
    // Within a superstate the drawing names states without it.
    const [outer, inner] = [from.split(".")[0], to.split(".")[0]];
    const isInside = outer === inner && from.includes(".") && to.includes(".");
    const [one, other] = isInside ? [from.split(".")[1], to.split(".")[1]] : [outer, inner];
    const edges = this.box.querySelectorAll(`[data-region="flow"] .edge[data-from="${CSS.escape(one ?? "")}"][data-to="${CSS.escape(other ?? "")}"]`);
    for (const edge of edges) edge.classList.add("lit");
  }

  /** @param {import("./contract").Transition | null | undefined} step */
  showTransition(step) {
    const box = byId("chart-transition");
    if (!step) {
      replace(box, "No transition yet.");
      return;
    }
    const key = `${step.record}`;
    if (box.dataset["record"] === key) return;
    box.dataset["record"] = key;
    replace(box, element("code", {}, visiblePlainText(step.from)), " → ", element("code", {}, visiblePlainText(step.to)), " by ",
      element("code", {}, visiblePlainText(step.by)), ", ",
      button(`frame ${formatCount(step.record)}`, () => this.inspection.select(step.record, "chart"), { class: "link" }));
  }

  showRegions() {
    const state = this.inspection.shownState;
    if (!state) return;
    const dialogs = state.dialogs === 0 ? "no dialog is open" : `${state.dialogs} dialog${state.dialogs > 1 ? "s" : ""} open`;
    const shells = state.shells === 0 ? "no shell command runs" : `${state.shells} shell command${state.shells > 1 ? "s" : ""} running`;
    replace(byId("chart-regions"), `${dialogs}; ${shells}; input ${state.closing ? "has ended" : "is open"}`);
  }
}

/**
 * A copy of a drawing with nothing but known shapes.
 * @param {Element} source
 * @returns {SVGElement | undefined}
 */
function adopt(source) {
  if (!ELEMENTS.has(source.localName)) return undefined;
  const copy = document.createElementNS(SVG, source.localName);
  for (const { name, value } of source.attributes) if (ATTRIBUTES.has(name)) copy.setAttribute(name, value);
  for (const child of source.childNodes) {
    if (child instanceof Text) copy.append(child.data);
    else if (child instanceof Element) {
      const adopted = adopt(child);
      if (adopted) copy.append(adopted);
    }
  }
  return /** @type {SVGElement} */ (copy);
}
