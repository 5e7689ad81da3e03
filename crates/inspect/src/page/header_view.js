// The top of the page: what is inspected, by which dialect, its state; the process and the sessions of a host.

import { get, send } from "./api.js";
import { announce } from "./announce.js";
import { button, byId, element, onNextFrame, replace, typedById } from "./elements.js";
import { formatBytes, formatCount, visiblePlainText } from "./visible_text.js";

/** @import {Inspection} from "./inspection.js" */
/** @import {HostSessions, Session, Source} from "./contract" */

/** Actions on the process, with their names. */
const ACTIONS = [["close_input", "Close its input"], ["terminate", "Terminate"], ["kill", "Kill"], ["restart", "Start again"]];

/** Shows the session. */
export class HeaderView {
  /** @param {Inspection} inspection */
  constructor(inspection) {
    this.inspection = inspection;
    this.dialect = typedById("dialect", HTMLSelectElement);
    this.sessions = typedById("host-sessions", HTMLDetailsElement);
    this.draw = onNextFrame(() => this.drawState());
    inspection.on(["session"], () => this.drawSession());
    inspection.on(["session", "progress", "moment", "connection"], this.draw);
    this.dialect.addEventListener("change", () => void this.judgeBy(this.dialect.value));
    const more = byId("top-more");
    more.addEventListener("click", () => {
      const isOpen = byId("top").classList.toggle("open");
      more.setAttribute("aria-expanded", String(isOpen));
      more.textContent = isOpen ? "Less" : "More";
    });
    // Other clients open and close sessions meanwhile.
    this.sessions.addEventListener("toggle", () => void this.drawSessions());
  }

  drawSession() {
    const { session } = this.inspection;
    if (!session) return;
    const name = sourceName(session.source);
    replace(byId("source"), visiblePlainText(name));
    document.title = `${visiblePlainText(name).slice(0, 60)} – pi-rpc inspect`;
    replace(this.dialect, ...session.dialects.map((it) => element("option", { value: it }, it)));
    this.dialect.value = session.dialect;
    byId("dialect-by").textContent = { chosen: "as chosen", recording: "as the recording says", frames: "by its frames", default: "by default" }[session.dialectBy] ?? "";
    this.drawProcess(session);
    this.sessions.hidden = session.source.kind !== "host";
    // One has to be chosen first.
    if (session.source.kind === "host" && !session.source.session) this.sessions.open = true;
  }

  /** @param {Session} session */
  drawProcess({ source }) {
    const box = byId("process");
    box.hidden = source.kind !== "command";
    if (source.kind !== "command") return;
    const state = source.exit !== undefined ? `It has exited with ${source.exit}.` : source.pid !== undefined ? `Process ${source.pid}.` : "";
    replace(byId("process-state"), state);
    replace(byId("process-actions"), ...ACTIONS.map(([action = "", name = ""]) => button(name, () => void this.act("api/process", { action }))));
  }

  async drawSessions() {
    /** @type {HostSessions} */
    const { sessions } = await get("api/sessions");
    replace(byId("host-list"), ...sessions.map((it) => element("li", {},
      button(visiblePlainText(it.name ?? it.handle), () => void this.act("api/attach", { session: it.handle })), " ",
      element("span", { class: "faint" }, visiblePlainText([it.state, it.cwd].filter(Boolean).join(", "))))));
  }

  /** @param {string} dialect */
  judgeBy(dialect) {
    return this.act("api/dialect", { dialect });
  }

  /**
   * @param {string} path
   * @param {unknown} body
   */
  async act(path, body) {
    try {
      // What comes of it is said by the live connection: the response may be older than that.
      await send("POST", path, body);
    } catch (failure) {
      announce(failure instanceof Error ? failure.message : String(failure), "bad");
    }
  }

  drawState() {
    const { inspection } = this;
    const { shownState: state, reading, session } = inspection;
    replace(byId("state"), state ? visiblePlainText(state.text) : "");
    let text = session?.live ? "live" : "complete";
    if (reading && reading.done < reading.total) text = `read ${formatBytes(reading.done)} of ${formatBytes(reading.total)}`;
    if (inspection.isConnected === false) text = "not connected: has pi-rpc inspect ended?";
    replace(byId("figures"), figuresText(inspection));
    const box = byId("connection");
    if (box.textContent !== text) replace(box, text);
    box.classList.toggle("bad", inspection.isConnected === false);
  }
}

/**
 * What the frames said about tokens, cost and speed, in a line.
 * @param {Inspection} inspection
 */
function figuresText(inspection) {
  const figures = inspection.moment?.figures ?? inspection.figures;
  if (!figures) return "";
  const parts = [`${formatCount(figures.tokens.total)} tokens`, `$${figures.cost.toFixed(4)}`];
  if (!inspection.moment && inspection.deltasPerSecond > 0) parts.push(`${inspection.deltasPerSecond.toFixed(1)} deltas/s`);
  if (figures.model) parts.unshift(visiblePlainText(figures.model).slice(0, 60));
  return parts.join(", ");
}

/** @param {Source} source */
function sourceName(source) {
  switch (source.kind) {
    case "command":
      return source.argv.join(" ");
    case "host":
      return source.session ? `${source.address} ${source.session}` : source.address;
    case "file":
      return source.path;
  }
}
