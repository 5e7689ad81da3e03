// Time: latency per request, first delta, deltas a second, tokens, cost; MCP servers with their calls.

import { get } from "./api.js";
import { button, byId, element, replace } from "./elements.js";
import { formatBytes, formatCount, formatDuration, visiblePlainText } from "./visible_text.js";

/** @import {Inspection} from "./inspection.js" */
/** @import {Figures, McpServer, Run, Timing} from "./contract" */

/** Milliseconds between two readings while the page is looked at. */
const EVERY = 1000;

/** Tables of time, as long as they are to be seen. */
export class TimingView {
  /** @param {Inspection} inspection */
  constructor(inspection) {
    this.inspection = inspection;
    this.readAt = -1;
    this.isLoading = false;
    this.isScheduled = false;
    inspection.on(["session", "progress", "reset"], () => this.schedule());
    byId("panel-timing").addEventListener("shown", () => this.schedule());
  }

  schedule() {
    if (!byId("panel-timing").checkVisibility() || this.readAt === this.inspection.records || this.isScheduled) return;
    this.isScheduled = true;
    const wait = this.readAt < 0 ? 0 : EVERY;
    setTimeout(() => {
      this.isScheduled = false;
      void this.read();
    }, wait);
  }

  async read() {
    if (this.isLoading) return;
    this.isLoading = true;
    this.readAt = this.inspection.records;
    try {
      /** @type {Timing} */
      const timing = await get("api/timing");
      replace(byId("timing"), ...this.content(timing));
    } finally {
      this.isLoading = false;
    }
    this.schedule();
  }

  /**
   * @param {Timing} timing
   * @returns {Node[]}
   */
  content(timing) {
    const { totals } = this.inspection;
    return [
      figuresView(timing.figures, timing, totals),
      element("h3", {}, "Commands"),
      table(["Command", "Count", "Failed", "Least", "Median", "Most"], timing.commands.map((it) => [
        visiblePlainText(it.type), it.outstanding > 0 ? `${formatCount(it.count)} (${it.outstanding} open)` : formatCount(it.count), formatCount(it.failed),
        ...[it.least, it.median, it.most].map((ms) => (it.count === it.outstanding ? "" : formatDuration(ms)))])),
      element("h3", {}, "Runs"),
      table(["Run", "Response", "First delta", "Duration", "Deltas a second", "Tokens", "Cost"], timing.runs.map((run) => this.runRow(run))),
      ...(timing.servers.length === 0 ? [] : [
        element("h3", {}, "MCP servers"),
        table(["Server", "State", "Tools", "Calls", "Failed", "Last error"], timing.servers.map((server) => this.serverRow(server)))]),
    ];
  }

  /** @param {McpServer} server */
  serverRow(server) {
    const { errorRecord } = server;
    const text = visiblePlainText(server.lastError ?? "");
    const error = typeof errorRecord !== "number" ? text
      : button(text, () => this.inspection.select(errorRecord, "timing"), { class: "link" });
    const state = server.reachedBy ? `${server.state}, reached by ${server.reachedBy}` : server.state;
    return [visiblePlainText(server.name), visiblePlainText(state), visiblePlainText(server.tools.join(", ")), formatCount(server.calls),
      formatCount(server.failed), error];
  }

  /** @param {Run} run */
  runRow(run) {
    const ms = (/** @type {number | null | undefined} */ time) => (typeof time === "number" ? formatDuration(time) : "");
    const link = button(`frame ${formatCount(run.start)}`, () => this.inspection.select(run.start, "timing"), { class: "link" });
    return [link, ms(run.response), ms(run.firstDelta), typeof run.end !== "number" ? "under way" : ms(run.duration), run.deltasPerSecond.toFixed(1),
      formatCount(run.tokens.total), `$${run.cost.toFixed(4)}`];
  }
}

/**
 * @param {Figures} figures
 * @param {Timing} timing
 * @param {Inspection["totals"]} totals
 */
function figuresView(figures, timing, totals) {
  /** @type {[string, string][]} */
  const facts = [
    ["Frames", `${formatCount(totals?.records ?? 0)}, ${formatBytes(totals?.bytes ?? 0)} in ${formatDuration(totals?.duration ?? 0)}`],
    ["Runs", `${formatCount(figures.runs)}, ${formatCount(figures.turns)} turns, ${formatCount(figures.tools)} tool calls`],
    ["Tokens", `${formatCount(figures.tokens.input)} in, ${formatCount(figures.tokens.output)} out, ${formatCount(figures.tokens.cacheRead)} from the cache`],
    ["Cost", `$${figures.cost.toFixed(4)}`],
    ["Deltas", `${formatCount(timing.deltas.total)}; ${timing.deltas.now.toFixed(1)} a second, at most ${timing.deltas.most.toFixed(1)}`],
  ];
  if (figures.model) facts.unshift(["Model", visiblePlainText(figures.model)]);
  return element("dl", { class: "figures" }, ...facts.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
}

/**
 * @param {string[]} heads
 * @param {(string | Node)[][]} rows
 */
function table(heads, rows) {
  if (rows.length === 0) return element("p", { class: "faint" }, "None yet.");
  return element("div", { class: "wide", tabindex: 0, role: "region", "aria-label": `${heads[0]}s` }, element("table", {},
    element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", { scope: "col" }, head)))),
    element("tbody", {}, ...rows.map((cells) => element("tr", {}, ...cells.map((cell) => element("td", {}, cell)))))));
}
