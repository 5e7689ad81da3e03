import { unnamed } from "./calls.js";
import type { CommandOf, Dialect, SnapshotOf } from "./dialect.js";
import { Flow } from "./flow.js";
import { Levels } from "./levels.js";
import type { Effect, Frame, Tables } from "./tables.js";
import { isEqual, isObject, kept, placeAt, textOf, valueAt } from "./values.js";

/** Maximum number of tracked commands without a response; beyond that, the state becomes unknown. */
const MOST_OPEN = 4096;

/** Whether a command may be sent now. */
export interface Permission {
  /** Whether the server accepts the command, as far as known. */
  readonly allowed: boolean;
  /** `run`, `queue`, `preempt`, `noop`, `control` or `reject`; undefined: the server decides. */
  readonly disposition: string | undefined;
  /** Error text of the refusal. */
  readonly reason: string | undefined;
}

/** A command without a response. */
interface Open {
  readonly frame: Frame;
  readonly command: string;
  /** Number of frames before it was sent. */
  readonly since: number;
  /** Number of changes of the activity before it was sent. */
  readonly changes: number;
  readonly effects: readonly Effect[];
}

/** Cause of the change of a member. */
type Cause = "command" | "event" | "told";

/** Maximum number of tracked prompts whose message has not come yet. */
const MOST_PROMPTS = 64;

/** Number of last items of a reported list that may come again as events. */
const REPEATED = 16;

const NO_EFFECTS: readonly Effect[] = [];
const UNSURE: Permission = { allowed: true, disposition: undefined, reason: undefined };

/**
 * State of a session, updated by every frame of the host and of the server. It
 * has every member whose value the frames determine. It does no IO and has no clock.
 *
 * An unknown member is absent from the snapshot; one without a value is null. An unknown member becomes known when a
 * response reports it: `get_state`, `get_messages`, `get_available_models` and so on. An extension may change model,
 * level and name without a frame; the member then has its last reported value.
 *
 * `subscribe` and `getSnapshot` fit `useSyncExternalStore` of React. Unchanged parts are the same objects.
 */
export class SessionState<D extends Dialect = Dialect> {
  /** @internal Activity of the session. */
  readonly flow: Flow;
  /** @internal Called when a response reports another value than the known one, although no frame has changed it. */
  onMismatch: ((member: string, known: unknown, told: unknown) => void) | undefined;
  readonly #tables: Tables;
  readonly #levels: Levels;
  readonly #values = new Map<string, unknown>();
  /** Last change of each member, with its cause. */
  readonly #changed = new Map<string, { readonly at: number; readonly by: Cause }>();
  /** Number of items of each list in its last read. */
  readonly #told = new Map<string, number>();
  readonly #open: Open[] = [];
  readonly #dialogs = new Map<unknown, Frame>();
  readonly #listeners = new Set<() => void>();
  readonly #permissions = new WeakMap<object, Permission>();
  /** Number of frames so far. */
  #now = 0;
  /** Number of the frame with the last user message. */
  #delivered = 0;
  /** Texts of prompts whose message has not come yet. */
  readonly #prompts: unknown[] = [];
  /**
   * A shell command has ended beside a run, and its message waits for the end of that; at the latest it is there when
   * the next one has begun. `idle`: the run has ended.
   */
  #notes: "none" | "waiting" | "idle" = "none";
  #isStale = true;
  #snapshot: SnapshotOf<D> | undefined;

  /** `fresh`: the server has just started, and all frames since are passed in. */
  constructor(tables: Tables, { fresh = false }: { readonly fresh?: boolean } = {}) {
    this.#tables = tables;
    this.#levels = new Levels(tables.session.levels);
    this.flow = new Flow(tables, () => this.#move());
    if (!fresh) return;
    for (const [name, about] of Object.entries(tables.session.members)) {
      if (about.fresh === true) this.#values.set(name, this.#first(name));
    }
  }

  /** Handles a frame of the host. */
  sent(frame: Frame): void {
    this.#now += 1;
    const { type, id } = frame;
    if (this.#tables.commands.includes(type)) {
      const effects = this.#tables.session.commands[type] ?? NO_EFFECTS;
      this.#open.push({ frame, command: type, since: this.#now, changes: this.flow.changes, effects });
      if (type === "prompt") this.#prompts.push(frame["message"]);
      if (this.#prompts.length > MOST_PROMPTS) this.#prompts.shift();
      if (this.#open.length > MOST_OPEN) {
        this.#open.shift();
        this.lost();
      }
      if (effects.length > 0) this.#isStale = true;
    } else if (type === "extension_ui_response") {
      this.#close(id);
    }
    this.#tell();
  }

  /** Handles a frame of the server. */
  received(frame: Frame): void {
    this.#now += 1;
    if (frame.type === "response") this.#respond(frame);
    else this.#happen(frame);
    this.#tell();
  }

  /** Makes all members unknown, as a frame was missed. */
  lost(): void {
    this.#now += 1;
    for (const name of Object.keys(this.#tables.session.members)) this.#forget(name, "told");
    this.#tell();
  }

  /** Calls `listener` after each change, until the returned function is called. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  /** Snapshot of the known state; the same object until the next change. */
  readonly getSnapshot = (): SnapshotOf<D> => {
    if (this.#isStale || this.#snapshot === undefined) {
      this.#isStale = false;
      const next = this.#take();
      if (this.#snapshot === undefined || !isShallowEqual(this.#snapshot, next)) this.#snapshot = next;
    }
    return this.#snapshot;
  };

  /** Whether the server accepts a command now, with the reason if it does not. */
  may<C extends CommandOf<D>>(command: C, fields: D["commands"][C]["fields"]): Permission {
    if (!this.#tables.commands.includes(command)) {
      return { allowed: false, disposition: "reject", reason: `${this.#tables.dialect} has no command ${command}` };
    }
    const outcome = this.flow.outcome(command, { ...fields, type: command });
    if (outcome === undefined) return UNSURE;
    const { disposition, refusal: reason } = outcome;
    const known = this.#permissions.get(outcome);
    const permission = known ?? { allowed: disposition !== "reject", disposition, reason };
    this.#permissions.set(outcome, permission);
    return permission;
  }

  #respond(frame: Frame): void {
    const open = this.#answered(frame);
    const { flow } = this;
    const [state, isIdle] = [flow.state, flow.isIdle];
    // A prompt whose run was seen already begins no other, and a slash command may begin none, unless the server says
    // what became of it: a run is seen anyway.
    const isOld = isIdle && open !== undefined && open.changes !== flow.changes;
    const isTold = valueAt(frame, ["data", "disposition"]) !== undefined || valueAt(frame, ["data", "agentInvoked"]) === true;
    const isSlash = textOf(open?.frame["message"])?.startsWith("/") === true;
    if (!isOld && (isTold || !isSlash)) flow.see(frame);
    if (open === undefined) {
      // Some servers refuse a prompt that they have acknowledged: it may have been taken for one that waits.
      const effects = this.#tables.session.commands["prompt"] ?? NO_EFFECTS;
      if (frame["success"] !== true) for (const { members } of effects) members.forEach((name) => this.#forget(name, "command"));
      return;
    }
    if (open.effects.length > 0) this.#isStale = true;
    if (frame["success"] !== true) return;
    this.#learn(open, frame);
    const still = open.changes === flow.changes || (open.changes === flow.changes - 1 && flow.state !== state);
    const where = still ? (isIdle ? "idle" : state.startsWith("streaming") ? "streaming" : "unsure") : "unsure";
    for (const effect of open.effects) this.#apply(effect, { command: open.frame, data: frame["data"] }, open, where);
  }

  #happen(frame: Frame): void {
    this.flow.see(frame);
    if (frame.type === "extension_ui_request") this.#ask(frame);
    for (const effect of this.#tables.session.events[frame.type] ?? NO_EFFECTS) this.#apply(effect, { event: frame });
    if (frame.type === "message_start" && valueAt(frame, ["message", "role"]) === "user") this.#delivered = this.#now;
  }

  /** Takes the open command of a response. */
  #answered(frame: Frame): Open | undefined {
    const { id } = frame;
    const isIt = ({ frame: sent, command }: Open): boolean =>
      sent["id"] === id && (id !== undefined || command === frame["command"]);
    const open = this.#open.find(isIt) ?? unnamed(this.#open, frame, this.#tables);
    if (open !== undefined) this.#open.splice(this.#open.indexOf(open), 1);
    return open;
  }

  /** Applies the members that a response reports, unless they have changed since the command. */
  #learn(open: Open, frame: Frame): void {
    // A read with parameters reports a part only.
    const isPart = Object.keys(open.frame).some((key) => key !== "id" && key !== "type");
    const tells = this.#tables.session.tells[open.command];
    if (tells === undefined || isPart) return;
    for (const [name, path] of Object.entries(tells)) {
      const value = this.#read(name, path, { data: frame["data"] });
      const isChanging = this.#open.some(({ effects }) => effects.some(({ members }) => members.includes(name)));
      if (value === undefined || isChanging || this.#changedAt(name) > open.since) continue;
      if (name === "messages" && this.#notes !== "none") continue;
      // Whether a sum has what is still to come as an event, only rest can tell.
      const isResting = this.flow.isIdle && open.changes === this.flow.changes;
      if (this.#tables.session.members[name]?.kept === "sum" && !isResting) continue;
      const known = this.#values.get(name);
      if (known !== undefined && !isEqual(known, value)) this.onMismatch?.(name, known, value);
      this.#set(name, value);
      if (Array.isArray(value)) this.#told.set(name, value.length);
    }
  }

  #apply(effect: Effect, frames: object, open?: Open, where = "unsure"): void {
    const { when, effect: kind, members, value: path, code } = effect;
    if (when !== undefined && !when.is.includes(String(placeAt(frames, when.field)))) return;
    const cause: Cause = open === undefined ? "event" : "command";
    if (kind === "code") return this.#run(String(code), members, frames, cause, open, where);
    for (const name of members) {
      const value = path === undefined ? undefined : this.#read(name, path, frames);
      if (path !== undefined && value === undefined && kind !== "clamp" && kind !== "add") continue;
      const isSet = kind === "set" || kind === "next" || kind === "clamp";
      // In dialects with events for each change, an event has reported this one.
      if (isSet && open !== undefined && this.#isTold(name, open.since)) continue;
      const next = this.#next(effect, name, value, open);
      const unsure = open !== undefined && next !== undefined && this.#isContested(name, effect, open, next);
      this.#change(name, unsure ? undefined : next, cause);
    }
  }

  /** Value of a member after an effect; undefined: unknown. */
  #next({ effect, code }: Effect, name: string, value: unknown, open: Open | undefined): unknown {
    const known = this.#values.get(name);
    switch (effect) {
      case "set":
        return code === undefined ? value : code === "clean-name" ? this.#clean(value) : undefined;
      case "next":
        return value;
      case "clamp":
        return this.#levels.clamp(value, known, this.#values.get("model"), this.#values.get("thinkingLevels"));
      case "reset":
        return this.#first(name);
      case "append":
        return this.#appended(name, known, value, open);
      case "add":
        return known === undefined ? undefined : sum(known, value);
      default:
        return undefined;
    }
  }

  #appended(name: string, known: unknown, value: unknown, open: Open | undefined): unknown {
    if (!Array.isArray(known)) return undefined;
    if (open !== undefined) {
      // A message that waits: it may have been taken up before its response, and a command of an extension may be in
      // it.
      const isTaken = this.#delivered > open.since;
      return isTaken || typeof value !== "string" || value.trimStart().startsWith("/") ? undefined : [...known, value];
    }
    // A reported item may come again as an event.
    const told = this.#told.get(name) ?? 0;
    return known.slice(Math.max(0, told - REPEATED), told).some((item) => isEqual(item, value)) ? known : [...known, value];
  }

  #run(code: string, members: readonly string[], frames: object, cause: Cause, open: Open | undefined, where: string): void {
    const forget = (): void => members.forEach((name) => this.#forget(name, cause));
    switch (code) {
      case "queue-prompt":
        return open === undefined ? forget() : this.#queue(open, where);
      case "take-delivered":
        return this.#takeDelivered(placeAt(frames, "event.message"));
      case "note-bash":
        if (where !== "idle") this.#notes = "waiting";
        return forget();
      case "drop-failed":
        return members.forEach((name) => this.#drop(name));
      case "summarise":
        // An event without a result reports a compaction without success.
        return open === undefined && !isObject(placeAt(frames, "event.result")) ? undefined : forget();
      default:
        return forget();
    }
  }

  /** Adds a prompt during an open run to its queue. */
  #queue({ frame, since }: Open, where: string): void {
    const { streamingBehavior, message } = frame;
    if (streamingBehavior === undefined || streamingBehavior === null) return;
    const name = streamingBehavior === "steer" ? "steering" : "followUp";
    const known = this.#values.get(name);
    const isPlain = typeof message === "string" && !message.trimStart().startsWith("/");
    if (where === "idle") return;
    const isSure = where === "streaming" && isPlain && this.#delivered <= since && Array.isArray(known);
    if (isSure) this.#seen(message);
    this.#change(name, isSure ? [...known, message] : undefined, "command");
  }

  /** Removes a delivered user message from its queue. */
  #takeDelivered(message: unknown): void {
    if (valueAt(message, ["role"]) !== "user") return;
    const text = textOf(valueAt(message, ["content"])) ?? "";
    const isPrompt = this.#seen(text);
    for (const name of ["steering", "followUp"]) {
      const known = this.#values.get(name) as readonly string[] | undefined;
      const place = known?.findIndex((waiting) => text.startsWith(waiting)) ?? -1;
      if (known === undefined || place < 0) continue;
      // It may as well be a prompt that says the same, or begins so.
      const isSure = !isPrompt && known[place] === text;
      return this.#change(name, isSure ? known.filter((_, other) => other !== place) : undefined, "event");
    }
  }

  /** Whether the text is that of a prompt whose message had not come yet. */
  #seen(text: unknown): boolean {
    const place = this.#prompts.indexOf(text);
    if (place >= 0) this.#prompts.splice(place, 1);
    return place >= 0;
  }

  /** Removes a failed assistant message. */
  #drop(name: string): void {
    const known = this.#values.get(name);
    const last: unknown = Array.isArray(known) ? known.at(-1) : undefined;
    const isFailed = valueAt(last, ["role"]) === "assistant" && valueAt(last, ["stopReason"]) === "error";
    if (Array.isArray(known) && isFailed) this.#change(name, known.slice(0, -1), "event");
    else this.#forget(name, "event");
    if (Number(valueAt(last, ["usage", "totalTokens"]) ?? 1) !== 0) this.#forget("usage", "event");
  }

  /** Session name as the server stores it; undefined: unknown. */
  #clean(name: unknown): unknown {
    if (typeof name !== "string") return undefined;
    const trimmed = name.trim();
    const isPlain = this.#tables.session.cleansName === "nothing" || !/[\p{Cc}\u2028\u2029]| {2}/u.test(trimmed);
    return isPlain && trimmed !== "" ? trimmed : undefined;
  }

  /** Whether another command that changes the member may have come between; not if commands are served in order. */
  #isContested(name: string, effect: Effect, { since, command }: Open, next: unknown): boolean {
    if (this.#tables.serial) return false;
    const changes = ({ effects }: Open): boolean => effects.some(({ members }) => members.includes(name));
    const changed = this.#changed.get(name);
    const others = this.#open.filter(changes);
    const isAlike = effect.effect === "append" && others.every((other) => other.command === command);
    if (others.length > 0 && !isAlike) return true;
    if (changed === undefined || changed.by !== "command" || changed.at <= since || isAlike) return false;
    return !isEqual(this.#values.get(name), next);
  }

  #isTold(name: string, since: number): boolean {
    const changed = this.#changed.get(name);
    return changed !== undefined && changed.by === "event" && changed.at > since && this.#values.has(name);
  }

  /** Value of a member at a path: null if it has none, undefined if it is not reported. */
  #read(name: string, path: string, frames: object): unknown {
    const { absent = false } = this.#tables.session.members[name] ?? {};
    return absent ? placeAt(frames, path, null) : (placeAt(frames, path) ?? undefined);
  }

  /** First value of a member. */
  #first(name: string): unknown {
    const { kept, absent = false, isList = false } = this.#tables.session.members[name] ?? { kept: "value" };
    if (name === "entries") return undefined;
    if (kept === "sum") return { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
    return isList ? [] : absent ? null : undefined;
  }

  #forget(name: string, by: Cause): void {
    this.#change(name, undefined, by);
  }

  #change(name: string, value: unknown, by: Cause): void {
    this.#changed.set(name, { at: this.#now, by });
    this.#set(name, value);
  }

  #set(name: string, value: unknown): void {
    if (!Array.isArray(value)) this.#told.delete(name);
    const before = this.#values.get(name);
    const after = kept(before, value);
    if (after === before) return;
    this.#isStale = true;
    if (after === undefined) this.#values.delete(name);
    else this.#values.set(name, after);
  }

  #changedAt(name: string): number {
    return this.#changed.get(name)?.at ?? 0;
  }

  #ask(frame: Frame): void {
    const { id, method, targetId } = frame;
    if (method === "cancel") this.#close(targetId);
    if (typeof this.#tables.dialogs[String(method)] !== "string") return;
    this.#dialogs.set(id, frame);
    this.#isStale = true;
  }

  #close(id: unknown): void {
    if (this.#dialogs.delete(id)) this.#isStale = true;
  }

  /** Handles a change of the activity. */
  #move(): void {
    this.#isStale = true;
    if (this.flow.isIdle && this.#notes === "waiting") this.#notes = "idle";
    else if (!this.flow.isIdle && this.#notes === "idle" && this.flow.state.startsWith("streaming")) this.#notes = "none";
  }

  #take(): SnapshotOf<D> {
    const { state } = this.flow;
    const { streaming, compacting } = this.#tables.session;
    const mayCompact = this.#open.some(({ effects }) => effects.some(({ code }) => code === "summarise"));
    const isCompacting = compacting.includes(state) || (mayCompact ? undefined : false);
    const before = this.#snapshot as { readonly dialogs?: readonly unknown[] } | undefined;
    return {
      ...Object.fromEntries(this.#values),
      state,
      isStreaming: streaming[state],
      isCompacting,
      dialogs: kept(before?.dialogs, [...this.#dialogs.values()]),
    } as SnapshotOf<D>;
  }

  /** Notifies the listeners of changes. */
  #tell(): void {
    if (!this.#isStale || this.#listeners.size === 0) return;
    const before = this.#snapshot;
    if (this.getSnapshot() !== before) for (const listener of [...this.#listeners]) listener();
  }

  /** @internal Resets to idle, as the server has reported that, contrary to the frames. */
  rest(): void {
    this.flow.rest();
    this.#tell();
  }
}

/** Adds the usage of a message. */
function sum(known: unknown, usage: unknown): unknown {
  if (!isObject(usage)) return known;
  const all = { ...(known as Record<string, number>) };
  for (const part of ["input", "output", "cacheRead", "cacheWrite"]) {
    const more = Number(usage[part] ?? 0);
    all[part] = (all[part] ?? 0) + more;
    all["total"] = (all["total"] ?? 0) + more;
  }
  return all;
}

function isShallowEqual(one: object, other: object): boolean {
  const [ones, others] = [Object.entries(one), Object.entries(other)];
  const has = ([name, value]: [string, unknown]): boolean =>
    name in one && (one as Record<string, unknown>)[name] === value;
  return ones.length === others.length && others.every(has);
}
