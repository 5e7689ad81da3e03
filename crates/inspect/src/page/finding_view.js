// One finding of the judge: its rule, where that is from, what was expected and what came.

import { button, element } from "./elements.js";
import { inline } from "./markdown.js";
import { boundedText, formatCount, visiblePlainText } from "./visible_text.js";

/** @import {Inspection} from "./inspection.js" */
/** @import {Finding} from "./contract" */

/**
 * Shows a finding.
 * @param {Finding} finding
 * @param {Inspection} inspection
 */
export function findingView(finding, inspection) {
  const { record, cause } = finding;
  const place = `Frame ${formatCount(record)}`;
  return element("div", { role: "group", class: `finding ${finding.side === "host" ? "host" : "server"}`, "aria-label": `Finding ${finding.finding + 1}` },
    element("p", {}, element("strong", { class: `tier ${["MUST", "SHOULD"].includes(finding.tier) ? finding.tier : "OBSERVED"}` }, visiblePlainText(finding.tier)), " ",
      element("code", {}, visiblePlainText(finding.rule)), ` by the ${finding.side === "host" ? "host" : "server"} `,
      button(place, () => inspection.select(record, "findings"), { class: "link" }),
      typeof cause !== "number" ? null : button(`caused by ${formatCount(cause)}`, () => inspection.select(cause, "findings"), { class: "link" })),
    element("p", {}, inline(finding.text)),
    element("dl", {},
      ...row("Expected", finding.expected), ...row("Got", finding.got), ...row("At", finding.pointer), ...row("Wanted", finding.wanted),
      ...row("State", finding.state), ...row("Source", finding.source)));
}

/**
 * @param {string} name
 * @param {string | null | undefined} text
 */
function row(name, text) {
  if (!text) return [];
  return [element("dt", {}, name), element("dd", {}, boundedText(text, "span", ""))];
}
