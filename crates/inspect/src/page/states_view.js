// The states as nested boxes, small enough for any window: the state that is the case is lit, the one before it is outlined.

import { element, replace } from "./elements.js";
import { visiblePlainText } from "./visible_text.js";

/** @import {Protocol} from "./contract" */

/** The flow with its superstates, and the regions beside it. */
export class StatesView {
  /** @param {HTMLElement} box */
  constructor(box) {
    this.box = box;
    /** Boxes by region and name. @type {Map<string, HTMLElement>} */
    this.boxes = new Map();
  }

  /**
   * Draws the states of a dialect.
   * @param {Protocol} protocol
   */
  load(protocol) {
    this.boxes.clear();
    /** @type {Map<string, HTMLElement>} */
    const lists = new Map();
    const flow = element("ul", {});
    lists.set("", flow);
    for (const { name, description, superstates } of protocol.states) {
      // The outermost one is around all of them.
      const around = superstates.length > 1 ? (superstates[0] ?? "") : "";
      if (around !== "" && !lists.has(around)) this.addState(lists, "", around, "");
      this.addState(lists, lists.has(around) ? around : "", name, description);
    }
    replace(this.box, region("flow", flow), ...protocol.regions.filter((it) => it.name !== "flow").map((it) => {
      const list = element("ul", {});
      for (const name of it.states) list.append(this.stateBox(it.name, name, name, ""));
      return region(it.name, list);
    }));
  }

  /**
   * @param {Map<string, HTMLElement>} lists
   * @param {string} around
   * @param {string} name
   * @param {string} description
   */
  addState(lists, around, name, description) {
    if (this.boxes.has(`flow ${name}`)) return;
    const inner = element("ul", {});
    const label = around !== "" && name.startsWith(`${around}.`) ? name.slice(around.length + 1) : name;
    const box = this.stateBox("flow", name, label, description);
    box.append(inner);
    lists.set(name, inner);
    lists.get(around)?.append(box);
  }

  /**
   * @param {string} regionName
   * @param {string} name
   * @param {string} label
   * @param {string} description
   */
  stateBox(regionName, name, label, description) {
    const box = element("li", { title: visiblePlainText(description) }, element("code", {}, visiblePlainText(label)));
    this.boxes.set(`${regionName} ${name}`, box);
    return box;
  }

  /**
   * Lights states, and outlines the one that the flow came from.
   * @param {[string, string][]} lit Regions and names.
   * @param {string | undefined} from
   */
  light(lit, from) {
    const wanted = new Set(lit.map(([regionName, name]) => `${regionName} ${name}`));
    for (const [key, box] of this.boxes) {
      box.classList.toggle("lit", wanted.has(key));
      if (wanted.has(key)) box.setAttribute("aria-current", "step");
      else box.removeAttribute("aria-current");
      box.classList.toggle("left", key === `flow ${from}` && !wanted.has(key));
    }
  }
}

/**
 * @param {string} name
 * @param {HTMLElement} list
 */
function region(name, list) {
  list.setAttribute("aria-label", `Region ${name}`);
  return element("div", { class: "region" }, element("h3", {}, visiblePlainText(name)), list);
}
