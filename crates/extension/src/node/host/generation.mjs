/** The extensions of a session, which are loaded together and become stale together when another session begins. */
import { createApi } from "./api.mjs";
import { findConflicts, flagValues, Member } from "./member.mjs";
import { within } from "./scope.mjs";
import { messageOf } from "./shapes.mjs";

const STALE =
  "this pi or ctx is stale: it belongs to a session that was left or reloaded. Use the ctx that session_start or " +
  "the callback withSession is given.";
const LOADING = 
  "Extension runtime not initialized: actions and queries are not available while extensions are loaded. Call them in a handler.";

/** Events whose handlers may block what is about to happen. */
const GUARDS = ["tool_call", "user_bash"];

/** The extensions of one session. */
export class Generation {
  /** @type {Member[]} */
  members = [];
  /** @type {Map<string, boolean | string>} */
  flagValues = new Map();
  /** Whether actions are possible, which they are not while extensions are loaded. */
  active = false;
  #stale = false;
  #atEnd = new Set();
  #host;

  /** @param {import("./host.mjs").Host} host */
  constructor(host) {
    this.#host = host;
  }

  /**
   * Loads the extensions, one after another.
   * @param {boolean} fresh Whether their modules are read again.
   */
  async load(fresh) {
    const { features, hello } = this.#host;
    const loaded = [];
    for (const described of hello.members ?? []) {
      const member = new Member(described);
      await this.#loadOne(member, fresh, loaded);
    }
    const late = findConflicts(loaded, features);
    for (const { member, error } of late) {
      this.#host.reportError(member.path, "load", error);
    }
    // Later versions keep them, and number commands.
    const refused = new Set(features.numberedCommands ? [] : late.map(({ member }) => member));
    this.members = loaded.flatMap((member) => (refused.has(member) ? this.#guardsOf(member.path) : [member]));
    for (const [name, value] of flagValues(this.members, hello.arguments ?? [])) this.flagValues.set(name, value);
  }

  /** Runs the actions that were deferred while extensions were loaded; a failing one is reported and does not stop the others. */
  runDeferredActions() {
    for (const member of this.members) {
      for (const action of member.atStart.splice(0)) {
        try {
          action();
        } catch (error) {
          this.#host.reportError(member.path, "load", error);
        }
      }
    }
  }

  /** Allows actions, and runs the deferred ones. */
  start() {
    this.active = true;
    this.runDeferredActions();
  }

  /** Makes these extensions stale: every later action throws. */
  invalidate() {
    this.#stale = true;
    for (const undo of this.#atEnd) undo();
    this.#atEnd.clear();
  }

  /** @throws when these extensions belong to a session that was left. */
  assertActive() {
    if (this.#stale) throw new Error(STALE);
  }

  /** @throws when these extensions belong to a session that was left, or are being loaded. */
  assertStarted() {
    this.assertActive();
    if (!this.active) throw new Error(LOADING);
  }

  /**
   * Runs an action now, or once the extensions are loaded, if this one was loaded without an error.
   * @param {Member} member
   * @param {() => void} action
   */
  runWhenStarted(member, action) {
    if (this.active) action();
    else member.atStart.push(action);
  }

  /**
   * @param {() => void} undo Called when these extensions become stale.
   * @returns {() => void} Calls `undo` earlier.
   */
  onStale(undo) {
    const once = () => {
      if (this.#atEnd.delete(once)) undo();
    };
    this.#atEnd.add(once);
    return once;
  }

  /** Registers again, after the start. */
  changed() {
    if (this.active) this.#host.scheduleRegistration();
  }

  /**
   * @param {string} event
   * @returns {[Member, Function][]} The handlers with their extensions, in order.
   */
  handlers(event) {
    return this.members.flatMap((member) => (member.handlers.get(event) ?? []).map((handler) => [member, handler]));
  }

  async #loadOne(member, fresh, loaded) {
    try {
      const factory = await this.#host.loader.load(member.path, { fresh });
      if (typeof factory !== "function") {
        throw new NoFactory(`Extension does not export a valid factory function: ${member.path}`);
      }
      await within({ path: member.path }, () => factory(createApi(this.#host, this, member)));
      loaded.push(member);
    } catch (error) {
      const message = messageOf(error);
      this.#host.reportError(
        member.path,
        "load",
        error instanceof NoFactory ? message : `Failed to load extension: ${message}`,
      );
      loaded.push(...this.#guardsOf(member.path));
    }
  }

  /**
   * What stands in for an extension that was loaded before and cannot be now: it blocks whatever the extension might have blocked.
   * @param {string} path
   * @returns {Member[]} None where the extension guarded nothing.
   */
  #guardsOf(path) {
    const { generation, hello } = this.#host;
    const described = hello.members.find((member) => member.path === path);
    const before = generation.members.find((member) => member.path === path);
    // What an earlier process had loaded is not known any more.
    const guarded = GUARDS.filter((event) => (generation.active ? before?.handlers.has(event) : described.loaded));
    if (guarded.length === 0) return [];
    const member = new Member(described);
    for (const event of guarded) {
      member.on(event, () => {
        throw new Error(`${path} could not be loaded again, and it might have blocked this`);
      });
    }
    return [member];
  }
}

class NoFactory extends Error {}
