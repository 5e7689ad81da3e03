// The report: what was found, rule by rule, and the recording and the report as files.

import { get } from "./api.js";
import { button, byId, element, replace } from "./elements.js";
import { inline } from "./markdown.js";
import { formatCount, visiblePlainText } from "./visible_text.js";

/** @import {Inspection} from "./inspection.js" */
/** @import {FindingPage} from "./contract" */

/** The verdict so far, and at the end. */
export class ReportView {
  /** @param {Inspection} inspection */
  constructor(inspection) {
    this.inspection = inspection;
    this.drawnAt = -1;
    const draw = () => void this.draw();
    byId("panel-report").addEventListener("shown", draw);
    inspection.on(["session", "progress", "reset"], draw);
  }

  async draw() {
    const { inspection } = this;
    const { totals, session, protocol } = inspection;
    if (!byId("panel-report").checkVisibility() || !totals || !session || totals.records === this.drawnAt) return;
    this.drawnAt = totals.records;
    /** @type {FindingPage} */
    const { byRule, total } = await get("api/findings", { from: 0, count: 1 });
    const must = byRule.filter((it) => it.tier === "MUST").reduce((sum, it) => sum + it.count, 0);
    const verdict = must > 0 ? `Failed: ${formatCount(must)} findings break a rule of the tier MUST.`
      : total > 0 ? `Passed, with ${formatCount(total)} findings of lower tiers.` : "Passed: no findings.";
    const moment = session.live ? "So far" : "At the end";
    replace(byId("report"),
      element("p", { class: must > 0 ? "verdict bad" : "verdict good" }, `${moment}: ${verdict}`),
      element("p", {}, `${formatCount(totals.records)} frames, judged by ${visiblePlainText(session.dialect)} ${visiblePlainText(session.version ?? "")}: `,
        `${formatCount(totals.in)} from the host, ${formatCount(totals.out)} from the server, ${formatCount(totals.err)} lines of stderr, ${formatCount(totals.unread)} unreadable lines.`),
      ...byRule.map(({ rule, tier, count }) => {
        const about = protocol?.rules.find((it) => it.id === rule);
        return element("section", { class: "finding" },
          element("p", {}, element("strong", { class: "tier" }, visiblePlainText(tier)), " ", element("code", {}, visiblePlainText(rule)), ` ${formatCount(count)} `,
            button("Show them", () => this.showRule(rule), { class: "link", "aria-label": `Show them: ${rule}` })),
          element("p", {}, inline(about?.text ?? "")));
      }));
  }

  /** @param {string} rule */
  showRule(rule) {
    const select = byId("finding-rule");
    if (!(select instanceof HTMLSelectElement)) return;
    byId("tab-findings").click();
    select.value = rule;
    select.dispatchEvent(new Event("change"));
    select.focus();
  }
}
