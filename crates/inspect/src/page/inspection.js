// What the whole page knows: the session, the totals, the selected record and the moment that is shown. Views subscribe to changes.

import { get } from "./api.js";

/** @import {Session, Protocol, Totals, State, Dialog, CommandState, Figures, Item, Finding, RecordRow, Moment, Scripts, Update} from "./contract" */

/**
 * Names of changes. `session`: source, dialect or rights. `protocol`: another dialect. `reset`: everything was judged anew.
 * `progress`: an update has come. `selected`: another record. `moment`: another moment is shown. `scripts`: a script goes on.
 * `commands`: what may be sent, or the open dialogs. `connection`: the socket was opened or closed.
 * @typedef {"session" | "protocol" | "reset" | "progress" | "selected" | "moment" | "scripts" | "commands" | "connection"} Change
 */

/** The state of the page, with the listeners of its views. */
export class Inspection {
  constructor() {
    /** @type {Session | undefined} */
    this.session = undefined;
    /** @type {Protocol | undefined} */
    this.protocol = undefined;
    /** @type {Record<string, any>} Definitions of the dialect's JSON Schema. */
    this.definitions = {};
    /** @type {Totals | undefined} */
    this.totals = undefined;
    /** @type {State | undefined} */
    this.state = undefined;
    /** @type {Update["transition"]} */
    this.transition = undefined;
    /** @type {Dialog[]} */
    this.dialogs = [];
    /** @type {CommandState[]} */
    this.commands = [];
    /** @type {Figures | undefined} */
    this.figures = undefined;
    this.deltasPerSecond = 0;
    /** @type {Update["reading"]} */
    this.reading = undefined;
    /** @type {Scripts | undefined} */
    this.scripts = undefined;
    /** Rows, items and findings of the latest update. @type {{ rows: RecordRow[], items: Item[], findings: Finding[] }} */
    this.latest = { rows: [], items: [], findings: [] };
    /** The selected record; 0: none. */
    this.selected = 0;
    /** Who has selected it, so that a view does not follow itself. */
    this.selectedBy = "";
    /** The moment that is shown instead of now. @type {Moment | undefined} */
    this.moment = undefined;
    /** Whether the socket is open; `undefined` before the first attempt has ended. @type {boolean | undefined} */
    this.isConnected = undefined;
    /** @type {Map<Change, Set<() => void>>} */
    this.listeners = new Map();
  }

  /**
   * Calls `listener` after each of these changes.
   * @param {Change[]} changes
   * @param {() => void} listener
   */
  on(changes, listener) {
    for (const change of changes) {
      const listeners = this.listeners.get(change) ?? new Set();
      listeners.add(listener);
      this.listeners.set(change, listeners);
    }
  }

  /** @param {Change} change */
  emit(change) {
    for (const listener of this.listeners.get(change) ?? []) listener();
  }

  /** Number of records. */
  get records() {
    return this.totals?.records ?? 0;
  }

  /** The record at which the page stands; `undefined`: now. */
  get at() {
    return this.moment?.record;
  }

  /** The state that is shown. */
  get shownState() {
    return this.moment ? this.moment.state : this.state;
  }

  /** The transition that is shown. */
  get shownTransition() {
    return this.moment ? this.moment.transition : this.transition;
  }

  /**
   * Reads what does not change while a dialect is inspected.
   */
  async loadProtocol() {
    const [protocol, schema] = await Promise.all([
      /** @type {Promise<Protocol>} */ (get("api/protocol")),
      /** @type {Promise<{ $defs: Record<string, any> }>} */ (get("api/schema")),
    ]);
    this.protocol = protocol;
    this.definitions = schema.$defs;
    this.emit("protocol");
  }

  /** Reads the present moment: what may be sent, dialogs, the last transition. */
  async loadNow() {
    /** @type {Moment} */
    const now = await get(`api/state/${this.records}`);
    this.dialogs = now.dialogs;
    this.commands = now.commands;
    this.figures = now.figures;
    this.transition = now.transition ?? undefined;
    this.state = now.state;
    this.emit("commands");
    this.emit("progress");
  }

  /**
   * Takes in a session.
   * @param {Session} session
   */
  setSession(session) {
    this.session = session;
    this.totals = session.totals;
    this.state = session.state;
    this.reading = session.reading;
    this.emit("session");
  }

  /**
   * Takes in an update.
   * @param {Update} update
   */
  update(update) {
    this.totals = update.totals;
    this.state = update.state;
    this.figures = update.figures;
    this.deltasPerSecond = update.deltasPerSecond;
    this.reading = update.reading;
    this.latest = update;
    if (update.transition) this.transition = update.transition;
    if (update.dialogs) this.dialogs = update.dialogs;
    if (update.commands) this.commands = update.commands;
    if (update.dialogs || update.commands) this.emit("commands");
    this.emit("progress");
  }

  /**
   * Selects a record.
   * @param {number} record
   * @param {string} by Name of the view that selects.
   */
  select(record, by) {
    if (record < 1 || record > this.records) return;
    this.selected = record;
    this.selectedBy = by;
    this.emit("selected");
  }

  /**
   * Shows the moment after a record, or now.
   * @param {number | undefined} record
   */
  async showMoment(record) {
    this.wantedMoment = record;
    if (record === undefined) this.moment = undefined;
    else {
      /** @type {Moment} */
      const moment = await get(`api/state/${record}`);
      // Another was asked for meanwhile.
      if (this.wantedMoment !== record) return;
      this.moment = moment;
    }
    this.emit("moment");
  }
}
