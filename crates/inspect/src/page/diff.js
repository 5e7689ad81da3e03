// Differences of files: added and removed lines are coloured and keep their sign.

import { element } from "./elements.js";
import { visibleText } from "./visible_text.js";

/** What the lines that say where a difference is begin with. */
const PLACES = ["+++ ", "--- ", "@@ "];

/**
 * Nodes for a difference in pi's numbered or the unified format.
 * @param {string} text
 * @returns {DocumentFragment}
 */
export function diffLines(text) {
  const fragment = document.createDocumentFragment();
  for (const line of text.split(/(?<=\n)/)) {
    if (PLACES.some((place) => line.startsWith(place))) fragment.append(element("span", { class: "place" }, visibleText(line)));
    else if (line.startsWith("+")) fragment.append(element("ins", {}, visibleText(line)));
    else if (line.startsWith("-")) fragment.append(element("del", {}, visibleText(line)));
    else fragment.append(visibleText(line));
  }
  return fragment;
}
