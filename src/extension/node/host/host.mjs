/** The host: what the server says is carried to the extensions, and back. */
import { shaped } from "./actions.mjs";
import { Bus } from "./bus.mjs";
import { Generation } from "./generation.mjs";
import { Providers } from "./providers.mjs";
import { registration } from "./registration.mjs";
import { origin, within } from "./scope.mjs";
import { features } from "./versions.mjs";
import { messageOf } from "./shapes.mjs";

/** Whoever does not end by itself what was cancelled is cut short after this time, in milliseconds. */
const PATIENCE = 1500;
/** An event that nobody waits for keeps those after it back no longer than this, in milliseconds. */
const LONGEST = 30_000;

/** Hooks that are asked while a run goes on: `ctx.signal` is theirs. */
const IN_RUN = new Set([
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
const CHANGES = new Set(["session_start", "session_shutdown"]);

/** Everything that extensions share. */
export class Host {
  /** @type {Generation} The extensions of the session that is open. */
  generation = new Generation(this);
  bus = new Bus();
  /** Servers that extensions have registered; nobody connects to them. */
  servers = new Map();
  #requests = new Map();
  #faults = new Set();
  #registered = "";
  #lastNested = 0;
  #interface;
  #events;
  #order = Promise.resolve();
  #change = Promise.resolve();
  #changed;

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
    const generation = await this.#loaded(false);
    this.serving = await import("./serving.mjs");
    const { Events, ModelView, SessionView, UserInterface } = this.serving;
    this.session = new SessionView(this);
    this.models = new ModelView(this);
    this.#interface = new UserInterface(this);
    this.#events = new Events(this);
    this.ui = this.#interface.object();
    this.wire.onWritten(() => this.session.forget());
    generation.start();
  }

  /**
   * New instances of all extensions take the place of those that are there.
   * @param {boolean} fresh Their modules are read again.
   */
  async replace(fresh) {
    this.expectChange();
    try {
      const generation = await this.#loaded(fresh);
      generation.start();
    } finally {
      this.#changed?.();
      this.#changed = undefined;
    }
  }

  /** Other extensions are about to take the place of these: what comes meanwhile waits for them. */
  expectChange() {
    if (!this.#changed) this.#change = new Promise((resolve) => (this.#changed = resolve));
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
  take(frame) {
    switch (frame.type) {
      case "event":
        this.#inOrder(() => this.#events.tell(frame.event)).catch(() => {});
        break;
      case "hook":
        this.#serve(frame, { inRun: IN_RUN.has(frame.hook.type) }, async (signal) => {
          const result = await this.#ask(frame.hook, signal);
          return { type: "done", result };
        });
        break;
      case "command":
        this.#serve(frame, {}, async () => {
          await this.serving.runCommand(this, frame);
          return { type: "done" };
        });
        break;
      case "tool_call":
        this.#serve(frame, { inRun: true }, async (signal) => ({
          type: "tool_result",
          ...(await this.serving.runTool(this, frame, signal)),
        }));
        break;
      case "model_call":
        this.#serve(frame, { inRun: true }, (signal) => this.serving.askModel(this, frame, signal));
        break;
      case "cancel":
        this.#requests.get(frame.id)?.abort();
        break;
      case "ui_answer":
        this.#interface.answered(frame.response);
        break;
    }
  }

  /**
   * Tells extensions of something that happened here, soon.
   * @param {any} event
   */
  emit(event) {
    if (this.generation.handlers(event.type).length === 0) return;
    queueMicrotask(() => this.serving.eachHandler(this, event.type, (handler, ctx) => handler(event, ctx)));
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
    this.wire.send({ ...shaped(frame), ...origin() });
  }

  /**
   * Does something that is waited for.
   * @param {Record<string, unknown>} frame
   * @param {AbortSignal} [signal]
   */
  async request(frame, signal) {
    if (!this.generation.active) throw new Error("nothing can be asked for while extensions are loaded: the server has not started");
    return this.wire.request({ ...shaped(frame), ...origin() }, signal);
  }

  /**
   * Tells the host application that something of an extension has failed.
   * @param {string} extensionPath
   * @param {string} event
   * @param {unknown} error
   */
  fault(extensionPath, event, error) {
    this.wire.send({ type: "error", extensionPath, event, error: messageOf(error) });
  }

  /** The same, but not twice. */
  faultOnce(extensionPath, event, error) {
    const said = JSON.stringify([extensionPath, event, error]);
    if (this.#faults.has(said)) return;
    this.#faults.add(said);
    this.fault(extensionPath, event, error);
  }

  /** Says once more what extensions add, before anything else is said. */
  registerSoon() {
    this.wire.soon(() => this.#register());
  }

  /** A number that no other nested call has. */
  nextNested() {
    return ++this.#lastNested;
  }

  async #loaded(fresh) {
    const generation = new Generation(this);
    await generation.load(fresh);
    this.generation = generation;
    // The models of its providers have to be there when the server chooses one.
    generation.catchUp();
    this.#register();
    return generation;
  }

  #register() {
    const wrong = (member, error) => this.faultOnce(member.path, "register", error);
    const frame = registration(this.generation.members, this.features, wrong);
    const said = JSON.stringify(frame);
    if (said === this.#registered) return;
    this.#registered = said;
    try {
      this.wire.send(frame);
    } catch (error) {
      // The server waits for one, whatever it says.
      this.fault("<runtime>", "register", error);
      this.wire.send({ type: "register" });
    }
  }

  async #ask(hook, signal) {
    if (hook.type === "event") return this.#inOrder(() => this.#events.tell(hook.event), signal);
    const ask = this.serving.HOOKS[hook.type];
    if (!ask) return undefined;
    if (!CHANGES.has(hook.type)) await this.#change;
    // It ends what the events before it were about.
    if (hook.type === "message_end") return this.#inOrder(() => ask(this, hook, signal), signal);
    return ask(this, hook, signal);
  }

  /**
   * Events of a run are heard one after another, in their order; one that hangs keeps the others back for a while only.
   * @param {() => Promise<any>} tell
   * @param {AbortSignal} [signal] That of the request, if there is one: it counts instead of the time.
   */
  #inOrder(tell, signal) {
    const told = this.#order.then(() => this.#change).then(tell);
    const failed = (error) => this.fault("<runtime>", "event", error);
    this.#order = this.#order.then(() => untilGivenUp(told.catch(failed), signal));
    return told;
  }

  /** Answers a request by the frame that `serve` comes back with, if it does with one. */
  async #serve({ id }, more, serve) {
    const cancelled = new AbortController();
    this.#requests.set(id, cancelled);
    const { signal } = cancelled;
    const tooLong = new Promise((_, reject) => {
      signal.addEventListener("abort", () => {
        setTimeout(() => reject(new Error("it was cancelled")), PATIENCE).unref();
      });
    });
    try {
      const frame = await Promise.race([within({ origin: id, signal, ...more }, () => serve(signal)), tooLong]);
      if (frame) this.wire.answer({ ...frame, id });
    } catch (error) {
      this.wire.answer({ type: "failed", id, error: messageOf(error) });
    } finally {
      this.#requests.delete(id);
    }
  }
}

/** Comes back when an event was told, or is waited for no longer. */
async function untilGivenUp(told, signal) {
  let timer;
  const givenUp = new Promise((resolve) => {
    if (!signal) timer = setTimeout(resolve, LONGEST);
    else if (signal.aborted) resolve();
    else signal.addEventListener("abort", resolve, { once: true });
  });
  await Promise.race([told, givenUp]);
  clearTimeout(timer);
}
