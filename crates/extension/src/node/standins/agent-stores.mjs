/** What pi keeps: sessions, settings, keys. Sessions are read from their files; settings and keys are asked of the server. Nothing is written. */
import { randomUUID } from "node:crypto";
import * as fs from "node:fs";
import * as path from "node:path";
import { branch, contextEntries, projection } from "../host/projection.mjs";
import { bridge } from "./bridge.mjs";

function noWriting(what) {
  return () => {
    throw new Error(`${what} cannot be changed here: pi is not installed where extensions look for it, and its stand-in is read-only.`);
  };
}

/** The lines of a session's file; those that cannot be read are left out. */
export function parseSessionEntries(content) {
  return content.split("\n").flatMap((line) => {
    try {
      return line.trim() ? [JSON.parse(line)] : [];
    } catch {
      return [];
    }
  });
}

/** From the first entry to one of them; `undefined` and an unknown one: to the last. */
function branchOf(entries, leafId, byId = new Map(entries.map((entry) => [entry.id, entry]))) {
  return leafId === null ? [] : branch(byId, byId.has(leafId) ? leafId : entries.at(-1)?.id);
}

/** The messages of a session for a model request. */
export function buildSessionContext(entries, leafId, byId) {
  const { messages, thinkingLevel, model } = projection(branchOf(entries, leafId, byId));
  return { messages, thinkingLevel, model };
}

/** The entries of the context for a model request. */
export const buildContextEntries = (entries, leafId, byId) => contextEntries(branchOf(entries, leafId, byId));

const sessionsFolder = (cwd) =>
  path.join(
    bridge().agentDirectory,
    "sessions",
    `--${path
      .resolve(cwd)
      .replace(/^[/\\]/, "")
      .replace(/[/\\:]/g, "-")}--`,
  );

/** A session out of a file, to read; or one in memory, of an extension's own. */
export class SessionManager {
  #file;
  #header;
  #entries = [];
  constructor(file, header) {
    this.#header = header;
    if (file === undefined) return;
    this.#file = path.resolve(file);
    const [first, ...entries] = parseSessionEntries(fs.readFileSync(this.#file, "utf8"));
    if (first?.type !== "session") throw new Error(`${this.#file} is not a session file.`);
    this.#header = first;
    this.#entries = entries;
  }

  static open(file) {
    return new SessionManager(file);
  }
  /** The sessions of a directory, newest first. */
  static async list(cwd, folder = sessionsFolder(cwd)) {
    return listed([folder]);
  }
  static async listAll() {
    const all = path.join(bridge().agentDirectory, "sessions");
    const folders = fs.existsSync(all) ? fs.readdirSync(all, { withFileTypes: true }).filter((one) => one.isDirectory()) : [];
    return listed(folders.map(({ name }) => path.join(all, name)));
  }
  static create = noWriting("Sessions");
  static continueRecent = noWriting("Sessions");
  static forkFrom = noWriting("Sessions");
  static inMemory(cwd = bridge().cwd) {
    return new SessionManager(undefined, { type: "session", version: 3, id: randomUUID(), timestamp: new Date().toISOString(), cwd });
  }

  /** Adds an entry behind the last one, and gives its id. */
  #append(entry) {
    if (this.isPersisted()) noWriting("Sessions")();
    const id = randomUUID().slice(0, 8);
    this.#entries.push({ ...entry, id, parentId: this.getLeafId(), timestamp: new Date().toISOString() });
    return id;
  }
  appendMessage(message) {
    return this.#append({ type: "message", message });
  }
  appendCustomEntry(customType, data) {
    return this.#append({ type: "custom", customType, data });
  }
  buildSessionContext() {
    return buildSessionContext(this.#entries, this.getLeafId());
  }

  getHeader() {
    return this.#header;
  }
  getCwd() {
    return this.#header.cwd;
  }
  getSessionId() {
    return this.#header.id;
  }
  getSessionFile() {
    return this.#file;
  }
  getSessionDir() {
    return this.#file === undefined ? "" : path.dirname(this.#file);
  }
  isPersisted() {
    return this.#file !== undefined;
  }
  getEntries() {
    return [...this.#entries];
  }
  getEntry(id) {
    return this.#entries.find((entry) => entry.id === id);
  }
  getLeafId() {
    return this.#entries.at(-1)?.id ?? null;
  }
  getLeafEntry() {
    return this.#entries.at(-1);
  }
  getChildren(id) {
    return this.#entries.filter((entry) => entry.parentId === id);
  }
  getLabel(id) {
    return this.#entries.findLast(({ type, targetId }) => type === "label" && targetId === id)?.label;
  }
  getSessionName() {
    return this.#entries.findLast(({ type }) => type === "session_info")?.name?.trim() || undefined;
  }
  /** From the beginning to an entry, or to the last one. */
  getBranch(fromId = this.getLeafId()) {
    const branch = [];
    for (let entry = this.getEntry(fromId); entry && !branch.includes(entry); entry = this.getEntry(entry.parentId)) branch.unshift(entry);
    return branch;
  }
}

function listed(folders) {
  const found = folders
    .filter((folder) => fs.existsSync(folder))
    .flatMap((folder) =>
      fs
        .readdirSync(folder)
        .filter((name) => name.endsWith(".jsonl"))
        .map((name) => path.join(folder, name)),
    );
  return found
    .flatMap((file) => {
      try {
        return [described(file)];
      } catch {
        return [];
      }
    })
    .sort((a, b) => b.modified.getTime() - a.modified.getTime());
}

function described(file) {
  const session = SessionManager.open(file);
  const messages = session.getEntries().flatMap(({ type, message }) => (type === "message" ? [message] : []));
  const texts = messages
    .filter(({ role }) => role === "user" || role === "assistant")
    .map(({ role, content }) => ({ role, text: textOf(content) }));
  const { id, cwd = "", timestamp, parentSession } = session.getHeader();
  return {
    path: file,
    id,
    cwd,
    name: session.getSessionName(),
    parentSessionPath: parentSession,
    created: new Date(timestamp),
    modified: fs.statSync(file).mtime,
    messageCount: messages.length,
    firstMessage: texts.find(({ role }) => role === "user")?.text || "(no messages)",
    allMessagesText: texts.map(({ text }) => text).join(" "),
  };
}

const textOf = (content) =>
  typeof content === "string" ? content : content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join(" ");

/** The settings: `getDefaultModel()` is `defaultModel`, and so on for every name. */
export class SettingsManager {
  constructor() {
    const known = {
      getGlobalSettings: () => settings(),
      getProjectSettings: () => ({}),
      getSettings: () => settings(),
      reload: async () => {},
      flush: async () => {},
      drainErrors: () => [],
    };
    return new Proxy(this, {
      get(target, key) {
        if (typeof key !== "string" || key in target) return Reflect.get(target, key);
        if (Object.hasOwn(known, key)) return known[key];
        const name = /^get([A-Z])(.*)$/.exec(key);
        if (name) return () => settings()[name[1].toLowerCase() + name[2]];
        return /^set[A-Z]|^apply/.test(key) ? noWriting("Settings") : undefined;
      },
    });
  }
  static create() {
    return new SettingsManager();
  }
  static inMemory = noWriting("Settings");
}

const settings = () => bridge().query("settings") ?? {};

/** The keys that the server has. */
export class AuthStorage {
  static create() {
    return new AuthStorage();
  }
  async getApiKey(provider) {
    return bridge().query("api_key", { provider })?.key;
  }
  hasAuth(provider) {
    return bridge().query("api_key", { provider })?.key !== undefined;
  }
  has(provider) {
    return this.hasAuth(provider);
  }
  get() {
    return undefined;
  }
  getAll() {
    return {};
  }
  list() {
    return [];
  }
  reload() {}
  set = noWriting("Keys");
  remove = noWriting("Keys");
  login = noWriting("Keys");
  logout = noWriting("Keys");
}

/** The models that the server knows. */
export class ModelRegistry {
  static create() {
    return new ModelRegistry();
  }
  #known() {
    return bridge().query("models")?.models ?? [];
  }
  getAll() {
    return this.#known().map(({ model }) => model);
  }
  getAvailable() {
    return this.#known()
      .filter(({ usable }) => usable)
      .map(({ model }) => model);
  }
  find(provider, id) {
    return this.getAll().find((model) => model.provider === provider && model.id === id);
  }
  async getApiKey(model) {
    return bridge().query("api_key", { provider: model.provider, modelId: model.id })?.key;
  }
  async getApiKeyForProvider(provider) {
    return bridge().query("api_key", { provider })?.key;
  }
  refresh() {}
}
