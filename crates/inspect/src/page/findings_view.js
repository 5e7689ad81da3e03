// Findings of the judge as they happen, and the report at the end.

import { get } from "./api.js";
import { button, byId, element, onNextFrame, replace, typedById } from "./elements.js";
import { findingView } from "./finding_view.js";
import { formatCount, visiblePlainText } from "./visible_text.js";

/** @import {Inspection} from "./inspection.js" */
/** @import {FindingPage} from "./contract" */

/** Findings of one request. */
const PAGE = 50;

/** The list of findings, by rule. */
export class FindingsView {
  /** @param {Inspection} inspection */
  constructor(inspection) {
    this.inspection = inspection;
    this.rule = typedById("finding-rule", HTMLSelectElement);
    this.list = byId("findings-list");
    /** Findings that are shown, and that exist. */
    this.shown = 0;
    this.known = -1;
    this.isLoading = false;
    this.draw = onNextFrame(() => void this.refresh());
    inspection.on(["session", "progress"], this.draw);
    inspection.on(["reset"], () => this.clear());
    this.rule.addEventListener("change", () => this.clear());
  }

  clear() {
    this.shown = 0;
    this.known = -1;
    replace(this.list);
    this.draw();
  }

  /** Reads findings that are new. */
  async refresh() {
    const { totals } = this.inspection;
    const total = totals?.findings ?? 0;
    const left = totals?.findingsLeftOut ?? 0;
    replace(byId("findings-badge"), total + left > 0 ? formatCount(total + left) : null);
    if (total === this.known || this.isLoading) return;
    this.known = total;
    this.isLoading = true;
    try {
      /** @type {FindingPage} */
      const page = await get("api/findings", { from: 0, count: this.shown === 0 ? PAGE : 1, rule: this.rule.value });
      this.drawSummary(page, left);
      if (this.shown === 0) this.append(page);
      else this.drawMore(page.total);
    } finally {
      this.isLoading = false;
    }
    if (total !== (this.inspection.totals?.findings ?? 0)) this.draw();
  }

  /**
   * @param {FindingPage} page
   * @param {number} left
   */
  drawSummary(page, left) {
    const rules = page.byRule.map(({ rule, tier, count }) => element("option", { value: rule }, visiblePlainText(`${rule} (${tier}, ${count})`)));
    const chosen = this.rule.value;
    replace(this.rule, element("option", { value: "" }, "every rule"), ...rules);
    this.rule.value = chosen;
    const text = page.total === 0 ? "No findings." : `${formatCount(page.total)} findings.`;
    replace(byId("findings-count"), left > 0 ? `${text} ${formatCount(left)} more were counted but not kept.` : text);
  }

  /** @param {FindingPage} page */
  append(page) {
    this.list.append(...page.findings.map((finding) => findingView(finding, this.inspection)));
    this.shown += page.findings.length;
    this.drawMore(page.total);
  }

  /** @param {number} total */
  drawMore(total) {
    const box = byId("findings-more");
    if (total <= this.shown) {
      replace(box);
      return;
    }
    replace(box, button(`Show more (${formatCount(total - this.shown)})`, async () => {
      this.append(await get("api/findings", { from: this.shown, count: PAGE, rule: this.rule.value }));
    }));
  }
}
