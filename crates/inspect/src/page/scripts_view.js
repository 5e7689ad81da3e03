// Lines that were sent, and scripts of commands that are saved and run again.

import { get, send } from "./api.js";
import { announce } from "./announce.js";
import { button, byId, element, onNextFrame, replace, typedById } from "./elements.js";
import { formatCount, visiblePlainText } from "./visible_text.js";

/** @import {Inspection} from "./inspection.js" */
/** @import {CommandsView} from "./commands_view.js" */
/** @import {RecordDetail, RecordPage, Scripts} from "./contract" */

/** Lines of the history that are shown. */
const SHOWN = 30;

/** History and scripts below the command. */
export class ScriptsView {
  /**
   * @param {Inspection} inspection
   * @param {CommandsView} commands
   */
  constructor(inspection, commands) {
    this.inspection = inspection;
    this.commands = commands;
    /** Lines of the script that is being written. @type {string[]} */
    this.lines = [];
    this.name = typedById("script-name", HTMLInputElement);
    /** Records of the host when the history was read. */
    this.historyOf = -1;
    this.draw = onNextFrame(() => void this.drawHistory());
    inspection.on(["session", "progress"], this.draw);
    inspection.on(["scripts"], () => this.drawScripts());
    byId("history").addEventListener("toggle", this.draw);
    byId("history-all").addEventListener("click", () => void this.addAll());
    byId("script-add").addEventListener("click", () => this.add(commands.line()));
    byId("script-form").addEventListener("submit", (event) => {
      event.preventDefault();
      void this.save();
    });
    this.drawLines();
    void this.load();
  }

  async load() {
    /** @type {Scripts | undefined} */
    const scripts = await get("api/scripts").then((it) => /** @type {Scripts} */ (it), () => undefined);
    if (!scripts) return;
    this.inspection.scripts = scripts;
    this.drawScripts();
  }

  /** Reads the latest lines of the host, if there are new ones and they are to be seen. */
  async drawHistory() {
    const sent = this.inspection.totals?.in ?? 0;
    const history = byId("history");
    if (!(history instanceof HTMLDetailsElement) || !history.open || sent === this.historyOf) return;
    this.historyOf = sent;
    /** @type {RecordPage} */
    const page = await get("api/records", { dir: "in", back: 1, from: this.inspection.records, count: SHOWN });
    replace(byId("history-list"), ...page.rows.toReversed().map((row) => element("li", {},
      element("code", {}, visiblePlainText(row.kind)), " ",
      button(`frame ${formatCount(row.record)}`, () => this.inspection.select(row.record, "history"), { class: "link" }),
      button("Use again", () => void this.recall(row.record), { "aria-label": `Use again: frame ${row.record}` }),
      button("Add to script", async () => this.add(await lineOf(row.record)), { "aria-label": `Add to script: frame ${row.record}` }))));
  }

  /** Adds the lines of the history to the script, oldest first. */
  async addAll() {
    /** @type {RecordPage} */
    const page = await get("api/records", { dir: "in", back: 1, from: this.inspection.records, count: SHOWN });
    for (const row of page.rows) this.add(await lineOf(row.record));
  }

  /** @param {number} record */
  async recall(record) {
    this.commands.setLine(await lineOf(record));
    this.commands.raw.focus();
  }

  /** @param {string} line */
  add(line) {
    this.lines.push(line);
    this.drawLines();
    announce(`The script has ${this.lines.length} line${this.lines.length > 1 ? "s" : ""}`);
  }

  drawLines() {
    replace(byId("script-lines"), ...this.lines.map((line, at) => element("li", {}, element("code", {}, visiblePlainText(line).slice(0, 160)), " ",
      button("Remove", () => {
        this.lines.splice(at, 1);
        this.drawLines();
      }, { "aria-label": `Remove line ${at + 1}` }))));
    byId("script-empty").hidden = this.lines.length > 0;
  }

  async save() {
    const name = this.name.value.trim();
    if (name === "" || this.lines.length === 0) {
      announce("A script needs a name and a line", "bad");
      return;
    }
    await this.change("PUT", name, { lines: this.lines }, `Saved ${name}`);
  }

  /**
   * @param {"PUT" | "DELETE"} method
   * @param {string} name
   * @param {unknown} body
   * @param {string} done
   */
  async change(method, name, body, done) {
    try {
      await send(method, `api/scripts/${encodeURIComponent(name)}`, body);
      announce(done);
      await this.load();
    } catch (failure) {
      announce(failure instanceof Error ? failure.message : String(failure), "bad");
    }
  }

  /** @param {string} name */
  async run(name) {
    try {
      await send("POST", `api/scripts/${encodeURIComponent(name)}/run`, {});
    } catch (failure) {
      announce(failure instanceof Error ? failure.message : String(failure), "bad");
    }
  }

  drawScripts() {
    const { scripts } = this.inspection;
    const running = scripts?.running;
    replace(byId("script-progress"), running ? `${visiblePlainText(running.name)}: line ${running.line} of ${running.of}` : null);
    replace(byId("scripts"), ...(scripts?.scripts ?? []).map(({ name, lines }) => element("li", {},
      element("strong", {}, visiblePlainText(name)), ` ${lines.length} line${lines.length === 1 ? "" : "s"} `,
      button("Run", () => void this.run(name), { "aria-label": `Run ${visiblePlainText(name)}` }),
      button("Edit", () => {
        this.lines = [...lines];
        this.name.value = name;
        this.drawLines();
        this.name.focus();
      }, { "aria-label": `Edit ${visiblePlainText(name)}` }),
      button("Delete", () => void this.change("DELETE", name, undefined, `Deleted ${name}`), { "aria-label": `Delete ${visiblePlainText(name)}` }))));
  }
}

/** @param {number} record */
async function lineOf(record) {
  /** @type {RecordDetail} */
  const detail = await get(`api/records/${record}`);
  return detail.text.trim();
}
