/** `ctx.sessionManager`: the open session. */
import { branch, contextEntries, projection, tree } from "./projection.mjs";

/** The open session, whose entries are queried from the server; each entry is queried once. */
export class SessionView {
  #host;
  #header = null;
  #entries = [];
  #byId = new Map();
  #labels = new Map();
  #leafId = null;
  #current = false;

  /** @param {import("./host.mjs").Host} host */
  constructor(host) {
    this.#host = host;
  }

  /** Marks the known entries as possibly out of date. */
  forget() {
    this.#current = false;
  }

  getCwd() {
    return this.#read().#header?.cwd ?? this.#host.cwd;
  }

  getSessionDir() {
    return this.#host.state().sessionDirectory ?? "";
  }

  getSessionId() {
    return this.#host.state().sessionId;
  }

  getSessionFile() {
    return this.#host.state().sessionFile;
  }

  getSessionName() {
    return this.#host.state().sessionName;
  }

  isPersisted() {
    return this.getSessionFile() !== undefined;
  }

  getHeader() {
    return this.#read().#header;
  }

  getEntries() {
    return [...this.#read().#entries];
  }

  getEntryCount() {
    return this.#read().#entries.length;
  }

  getEntry(id) {
    return this.#read().#byId.get(id);
  }

  getChildren(parentId) {
    return this.#read().#entries.filter((entry) => entry.parentId === parentId);
  }

  getLeafId() {
    return this.#read().#leafId;
  }

  getLeafEntry() {
    return this.getEntry(this.#read().#leafId);
  }

  getLabel(id) {
    return this.#read().#labels.get(id)?.label;
  }

  getBranch(fromId) {
    this.#read();
    return branch(this.#byId, fromId ?? this.#leafId);
  }

  getTree() {
    this.#read();
    return tree(this.#entries, this.#labels);
  }

  buildContextEntries() {
    return contextEntries(this.getBranch());
  }

  buildSessionProjection() {
    return projection(this.getBranch());
  }

  buildSessionContext() {
    const { messages, thinkingLevel, model } = this.buildSessionProjection();
    return { messages, thinkingLevel, model };
  }

  // Writing methods, which pi has here too.
  appendCustomEntry(customType, data) {
    this.#host.act({ type: "append_entry", customType, data });
    return this.getLeafId();
  }

  appendSessionInfo(name) {
    this.#host.act({ type: "set_session_name", name });
    return this.getLeafId();
  }

  branch(entryId) {
    if (!this.getEntry(entryId)) throw new Error(`Entry ${entryId} not found`);
    this.#host.act({ type: "set_leaf", entryId });
    if (this.getLeafId() !== entryId) throw new Error("the branch cannot be changed during a run");
  }

  appendLabelChange(entryId, label) {
    this.#host.act({ type: "set_label", entryId, label: label || undefined });
    return this.getLeafId();
  }

  #read() {
    if (this.#current) return this;
    let news = this.#host.query("entries", { since: this.#entries.length });
    if (this.#entries.length > 0 && news.header?.id !== this.#header?.id) {
      this.#entries = [];
      this.#byId.clear();
      this.#labels.clear();
      news = this.#host.query("entries", { since: 0 });
    }
    this.#header = news.header ?? null;
    this.#leafId = news.leafId ?? null;
    for (const entry of news.entries) this.#add(entry);
    this.#current = true;
    // Until other code runs, only this host can change the session.
    queueMicrotask(() => this.forget());
    return this;
  }

  #add(entry) {
    this.#entries.push(entry);
    this.#byId.set(entry.id, entry);
    if (entry.type !== "label") return;
    if (entry.label) this.#labels.set(entry.targetId, entry);
    else this.#labels.delete(entry.targetId);
  }
}
