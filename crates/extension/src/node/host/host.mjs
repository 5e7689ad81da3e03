/** Dispatches frames of the server to the extensions, and sends their frames to the server. */
import { normalizeAction } from "./actions.mjs";
import { Bus } from "./bus.mjs";
import { Generation } from "./generation.mjs";
import { Providers } from "./providers.mjs";
import { registration } from "./registration.mjs";
import { RUN_HOOKS } from "./schema.mjs";
import { origin, within } from "./scope.mjs";
import { features } from "./versions.mjs";
import { messageOf } from "./shapes.mjs";
import { VirtualModels } from "./virtual_models.mjs";

/** Milliseconds between the cancellation of a request and its failure, if it has not completed. */
const CANCEL_GRACE = 1500;
/** Milliseconds for which an event that the server does not await delays later events. */
const EVENT_LIMIT = 30_000;

/** The state that all extensions share. */
export class Host {
  /** @type {Generation} The extensions of the session that is open. */
  generation = new Generation(this);
  bus = new Bus();
  /** MCP servers that extensions have registered, by name. */
  servers = new Map();
  #requests = new Map();
  #reported = new Set();
  #registered = "";
  #lastNestedCallId = 0;
  #interface;
  #events;
  #lastEvent = Promise.resolve();
  #pendingChange = Promise.resolve();
  #endChange;

  /**
   * @param {import("./wire.mjs").Wire} wire
   * @param {any} hello
   */
  constructor(wire, hello) {
    this.wire = wire;
    this.hello = hello;
    this.cwd = hello.cwd;
    this.features = features(hello.api);
    this.providers = new Providers(this);
    this.virtualModels = new VirtualModels(this);
  }

  /**
   * Loads the extensions and registers what they add.
   * @param {{ load: (path: string, how: { fresh: boolean }) => Promise<unknown> }} loader
   */
  async start(loader) {
    this.loader = loader;
    const generation = await this.#loadGeneration(false);
    this.serving = await import("./serving.mjs");
    const { Events, ModelRegistry, SessionView, UserInterface } = this.serving;
    this.session = new SessionView(this);
    this.models = new ModelRegistry(this);
    this.#interface = new UserInterface(this);
    this.#events = new Events(this);
    this.ui = this.#interface.createUi();
    this.wire.onWritten(() => this.session.forget());
    generation.start();
  }

  /**
   * Replaces all extensions by new instances.
   * @param {boolean} fresh Whether their modules are read again.
   */
  async replace(fresh) {
    this.holdHooks();
    try {
      const generation = await this.#loadGeneration(fresh);
      generation.start();
    } finally {
      this.#endChange?.();
      this.#endChange = undefined;
    }
  }

  /** Holds events and hooks back until the extensions are replaced. */
  holdHooks() {
    if (!this.#endChange) this.#pendingChange = new Promise((resolve) => (this.#endChange = resolve));
  }

  /** Reloads the extensions, for `ctx.reload`; nothing else is reloaded here. */
  async reload() {
    const { HOOKS } = this.serving;
    await HOOKS.session_shutdown(this, { reason: "reload" });
    if (!this.features.instances) await this.replace(true);
    await HOOKS.session_start(this, { reason: "reload" });
  }

  /**
   * @param {any} frame A frame of the server.
   */
  handleFrame(frame) {
    switch (frame.type) {
      case "event":
        this.#enqueueEvent(() => this.#events.emit(frame.event)).catch(() => {});
        break;
      case "hook":
        this.#answerRequest(frame, { inRun: RUN_HOOKS.includes(frame.hook.type) }, async (signal) => {
          const result = await this.#runHook(frame.hook, signal);
          return { type: "done", result };
        });
        break;
      case "command":
        this.#answerRequest(frame, {}, async () => {
          await this.serving.runCommand(this, frame);
          return { type: "done" };
        });
        break;
      case "tool_call":
        this.#answerRequest(frame, { inRun: true }, async (signal) => ({
          type: "tool_result",
          ...(await this.serving.runTool(this, frame, signal)),
        }));
        break;
      case "model_call":
        this.#answerRequest(frame, { inRun: true }, (signal) => this.serving.callModel(this, frame, signal));
        break;
      case "cancel":
        this.#requests.get(frame.id)?.abort();
        break;
      case "ui_answer":
        this.#interface.resolveDialog(frame.response);
        break;
    }
  }

  /**
   * Emits an event of this host to extensions, in a microtask.
   * @param {any} event
   */
  emit(event) {
    if (this.generation.handlers(event.type).length === 0) return;
    queueMicrotask(() => this.serving.callHandlers(this, event.type, (handler, ctx) => handler(event, ctx)));
  }

  /** The current state: `QueriedState` of the schema. */
  state() {
    return this.query("state");
  }

  /**
   * @param {string} about
   * @param {Record<string, unknown>} [more]
   */
  query(about, more) {
    this.generation.assertStarted();
    return this.wire.query(about, more);
  }

  /**
   * Sends an action without awaiting its response.
   * @param {Record<string, unknown>} frame
   */
  act(frame) {
    this.wire.send({ ...normalizeAction(frame), ...origin() });
  }

  /**
   * Sends an action, and resolves to the data of its response.
   * @param {Record<string, unknown>} frame
   * @param {AbortSignal} [signal]
   */
  async request(frame, signal) {
    if (!this.generation.active) throw new Error("actions are not available while extensions are loaded; call them in a handler");
    return this.wire.request({ ...normalizeAction(frame), ...origin() }, signal);
  }

  /**
   * Reports an error of an extension to the host application.
   * @param {string} extensionPath
   * @param {string} event
   * @param {unknown} error
   */
  reportError(extensionPath, event, error) {
    this.wire.send({ type: "error", extensionPath, event, error: messageOf(error) });
  }

  /** Reports an error of an extension, unless the same one was reported. */
  reportErrorOnce(extensionPath, event, error) {
    const key = JSON.stringify([extensionPath, event, error]);
    if (this.#reported.has(key)) return;
    this.#reported.add(key);
    this.reportError(extensionPath, event, error);
  }

  /** Reports servers that nothing connects: neither the server, nor an extension that is told of changes. */
  reportUnconnectedServers() {
    if (this.hello.connectsMcp === true || this.generation.handlers("mcp_servers_change").length > 0) return;
    for (const { name, extensionPath } of this.servers.values()) {
      const text = `MCP server "${name}" is not connected: this server does not support MCP`;
      this.reportErrorOnce(extensionPath, "register_mcp_server", text);
    }
  }

  /** Registers what extensions add again, before the next frame is sent. */
  scheduleRegistration() {
    this.wire.beforeNextFrame(() => this.#register());
  }

  /** A unique number for a nested call. */
  nextNestedCallId() {
    return ++this.#lastNestedCallId;
  }

  async #loadGeneration(fresh) {
    const generation = new Generation(this);
    this.servers.clear();
    await generation.load(fresh);
    this.generation = generation;
    // The models of its providers have to be there when the server chooses one.
    generation.runDeferredActions();
    this.reportUnconnectedServers();
    this.#register();
    return generation;
  }

  #register() {
    const report = (member, error) => this.reportErrorOnce(member.path, "register", error);
    const frame = registration(this.generation.members, this.features, report, this.servers);
    const json = JSON.stringify(frame);
    if (json === this.#registered) return;
    this.#registered = json;
    try {
      this.wire.send(frame);
    } catch (error) {
      // The server waits for a registration.
      this.reportError("<runtime>", "register", error);
      this.wire.send({ type: "register" });
    }
  }

  async #runHook(hook, signal) {
    if (hook.type === "event") return this.#enqueueEvent(() => this.#events.emit(hook.event), signal);
    const run = this.serving.HOOKS[hook.type];
    if (!run) return undefined;
    if (!(hook.type in this.serving.SESSION_HOOKS)) await this.#pendingChange;
    // They follow the events before them.
    if (hook.type === "message_end" || hook.type === "agent_before_settle") return this.#enqueueEvent(() => run(this, hook, signal), signal);
    return run(this, hook, signal);
  }

  /**
   * Queues an event of a run, so that events are handled in order; one that hangs delays the others only for a limited time.
   * @param {() => Promise<any>} emit
   * @param {AbortSignal} [signal] Signal of the request, if there is one; it replaces the time limit.
   */
  #enqueueEvent(emit, signal) {
    const emitted = this.#lastEvent.then(() => this.#pendingChange).then(emit);
    const failed = (error) => this.reportError("<runtime>", "event", error);
    this.#lastEvent = this.#lastEvent.then(() => settledOrAbandoned(emitted.catch(failed), signal));
    return emitted;
  }

  /** Answers a request with the frame that `run` resolves to, or with its error. */
  async #answerRequest({ id }, more, run) {
    const cancelled = new AbortController();
    this.#requests.set(id, cancelled);
    const { signal } = cancelled;
    const abandoned = new Promise((_, reject) => {
      signal.addEventListener("abort", () => {
        setTimeout(() => reject(new Error("the request was cancelled")), CANCEL_GRACE).unref();
      });
    });
    try {
      const frame = await Promise.race([within({ origin: id, signal, ...more }, () => run(signal)), abandoned]);
      if (frame) this.wire.answer({ ...frame, id });
    } catch (error) {
      this.wire.answer({ type: "failed", id, error: messageOf(error) });
    } finally {
      this.#requests.delete(id);
    }
  }
}

/** Resolves when an event was emitted, or after the time limit or the abort. */
async function settledOrAbandoned(emitted, signal) {
  let timer;
  const abandoned = new Promise((resolve) => {
    if (!signal) timer = setTimeout(resolve, EVENT_LIMIT);
    else if (signal.aborted) resolve();
    else signal.addEventListener("abort", resolve, { once: true });
  });
  await Promise.race([emitted, abandoned]);
  clearTimeout(timer);
}
