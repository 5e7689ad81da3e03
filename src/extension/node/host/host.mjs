/** The host: what the server says is carried to the extensions, and back. */
import { normalizeAction } from "./actions.mjs";
import { Bus } from "./bus.mjs";
import { Generation } from "./generation.mjs";
import { Providers } from "./providers.mjs";
import { registration } from "./registration.mjs";
import { origin, within } from "./scope.mjs";
import { features } from "./versions.mjs";
import { messageOf } from "./shapes.mjs";

/** Whoever does not end by itself what was cancelled is cut short after this time, in milliseconds. */
const CANCEL_GRACE = 1500;
/** An event that nobody waits for keeps those after it back no longer than this, in milliseconds. */
const EVENT_LIMIT = 30_000;

/** Hooks that are asked while a run goes on: `ctx.signal` is theirs. */
const RUN_HOOKS = new Set([
  "event",
  "tool_call",
  "tool_result",
  "context",
  "message_end",
  "before_provider_request",
  "before_provider_headers",
  "after_provider_response",
]);

/** Hooks by which one generation of extensions takes the place of another. */
const GENERATION_HOOKS = new Set(["session_start", "session_shutdown"]);

/** Everything that extensions share. */
export class Host {
  /** @type {Generation} The extensions of the session that is open. */
  generation = new Generation(this);
  bus = new Bus();
  /** Servers that extensions have registered; nobody connects to them. */
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
  }

  /**
   * Loads the extensions and says what they add.
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
   * New instances of all extensions take the place of those that are there.
   * @param {boolean} fresh Their modules are read again.
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

  /** Other extensions are about to take the place of these: what comes meanwhile waits for them. */
  holdHooks() {
    if (!this.#endChange) this.#pendingChange = new Promise((resolve) => (this.#endChange = resolve));
  }

  /** What `ctx.reload` does: here, extensions are all that is loaded again. */
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
        this.#answerRequest(frame, { inRun: RUN_HOOKS.has(frame.hook.type) }, async (signal) => {
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
   * Tells extensions of something that happened here, soon.
   * @param {any} event
   */
  emit(event) {
    if (this.generation.handlers(event.type).length === 0) return;
    queueMicrotask(() => this.serving.callHandlers(this, event.type, (handler, ctx) => handler(event, ctx)));
  }

  /** How things are: `QueriedState` of the schema. */
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
   * Does something, and nobody waits for it.
   * @param {Record<string, unknown>} frame
   */
  act(frame) {
    this.wire.send({ ...normalizeAction(frame), ...origin() });
  }

  /**
   * Does something that is waited for.
   * @param {Record<string, unknown>} frame
   * @param {AbortSignal} [signal]
   */
  async request(frame, signal) {
    if (!this.generation.active) throw new Error("nothing can be asked for while extensions are loaded: the server has not started");
    return this.wire.request({ ...normalizeAction(frame), ...origin() }, signal);
  }

  /**
   * Tells the host application that something of an extension has failed.
   * @param {string} extensionPath
   * @param {string} event
   * @param {unknown} error
   */
  reportError(extensionPath, event, error) {
    this.wire.send({ type: "error", extensionPath, event, error: messageOf(error) });
  }

  /** The same, but not twice. */
  reportErrorOnce(extensionPath, event, error) {
    const key = JSON.stringify([extensionPath, event, error]);
    if (this.#reported.has(key)) return;
    this.#reported.add(key);
    this.reportError(extensionPath, event, error);
  }

  /** Says once more what extensions add, before anything else is said. */
  scheduleRegistration() {
    this.wire.beforeNextFrame(() => this.#register());
  }

  /** A number that no other nested call has. */
  nextNestedCallId() {
    return ++this.#lastNestedCallId;
  }

  async #loadGeneration(fresh) {
    const generation = new Generation(this);
    await generation.load(fresh);
    this.generation = generation;
    // The models of its providers have to be there when the server chooses one.
    generation.runDeferredActions();
    this.#register();
    return generation;
  }

  #register() {
    const report = (member, error) => this.reportErrorOnce(member.path, "register", error);
    const frame = registration(this.generation.members, this.features, report);
    const json = JSON.stringify(frame);
    if (json === this.#registered) return;
    this.#registered = json;
    try {
      this.wire.send(frame);
    } catch (error) {
      // The server waits for one, whatever it says.
      this.reportError("<runtime>", "register", error);
      this.wire.send({ type: "register" });
    }
  }

  async #runHook(hook, signal) {
    if (hook.type === "event") return this.#enqueueEvent(() => this.#events.emit(hook.event), signal);
    const run = this.serving.HOOKS[hook.type];
    if (!run) return undefined;
    if (!GENERATION_HOOKS.has(hook.type)) await this.#pendingChange;
    // It ends what the events before it were about.
    if (hook.type === "message_end") return this.#enqueueEvent(() => run(this, hook, signal), signal);
    return run(this, hook, signal);
  }

  /**
   * Events of a run are heard one after another, in their order; one that hangs keeps the others back for a while only.
   * @param {() => Promise<any>} emit
   * @param {AbortSignal} [signal] That of the request, if there is one: it counts instead of the time.
   */
  #enqueueEvent(emit, signal) {
    const emitted = this.#lastEvent.then(() => this.#pendingChange).then(emit);
    const failed = (error) => this.reportError("<runtime>", "event", error);
    this.#lastEvent = this.#lastEvent.then(() => settledOrAbandoned(emitted.catch(failed), signal));
    return emitted;
  }

  /** Answers a request by the frame that `run` comes back with, if it does with one. */
  async #answerRequest({ id }, more, run) {
    const cancelled = new AbortController();
    this.#requests.set(id, cancelled);
    const { signal } = cancelled;
    const abandoned = new Promise((_, reject) => {
      signal.addEventListener("abort", () => {
        setTimeout(() => reject(new Error("it was cancelled")), CANCEL_GRACE).unref();
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

/** Comes back when an event was told, or is waited for no longer. */
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
