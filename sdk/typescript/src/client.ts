/// <reference lib="esnext.disposable" preserve="true" />
import { Dialogs, HostTools, type Run } from "./asks.js";
import { Calls, type Call } from "./calls.js";
import { Chunks } from "./chunks.js";
import type { CommandOf, Dialect, DialogHandlers, EventOf, HostTool, RunOf } from "./dialect.js";
import { ClosedError, IllegalCommandError, ProtocolError, type Exit } from "./errors.js";
import { line } from "./framing.js";
import type { HostToolCall, HostToolCancel, RpcExtensionUIRequest } from "./generated/xcsh.types.js";
import { startProcess } from "./process.js";
import { isHandled, lastText, Runs, type Busy } from "./runs.js";
import { SessionState } from "./session.js";
import { Subscriptions, type Subscription } from "./subscription.js";
import type { Frame, Tables } from "./tables.js";
import type { Connect, Transport } from "./transport.js";
import { deferred, limited, within, type WaitOptions } from "./wait.js";

/** Options of a client of a server that runs already. Times are in milliseconds. */
export interface ConnectOptions<D extends Dialect = Dialect> {
  /** Default time limit of calls; absent: none. */
  readonly timeoutMs?: number | undefined;
  /** Time limit for the start of the server; default 30,000. */
  readonly readyTimeoutMs?: number | undefined;
  /** Unread events of a subscription at which reading stops, in characters of JSON; default 8 Mi. */
  readonly backlog?: number | undefined;
  /** Dialog callbacks from the start, for dialogs before the first command. Absent: see `Client.onDialog`. */
  readonly onDialog?: DialogHandlers<D> | undefined;
  /** Called for errors that do not stop the client; absent: a warning of the process, or of the console. */
  readonly onWarning?: ((message: string, cause: unknown) => void) | undefined;
}

/** Options of a client that starts its server. */
export interface Options<D extends Dialect = Dialect> extends ConnectOptions<D> {
  /** Program and its arguments; absent: `pi-rpc serve --dialect …`. */
  readonly command?: readonly string[] | undefined;
  /** Additional arguments. */
  readonly args?: readonly string[] | undefined;
  /** Working directory of the server; absent: that of this process. */
  readonly cwd?: string | undefined;
  /** Environment of the server; absent: that of this process. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Highest version of the protocol to negotiate, with servers that offer several; default 2, which has frames in chunks. */
  readonly protocolVersion?: number | undefined;
  /** Maximum length of a line in bytes; default 256 Mi. */
  readonly longestLine?: number | undefined;
}

/** Options of a call. */
export interface CallOptions extends WaitOptions {
  /** Sends the command even if the state refuses it, so that the server decides. */
  readonly anyway?: boolean | undefined;
}

/**
 * Connection to a server. The generated clients add a method for each command of their dialect.
 *
 * Reading stops when a subscription is `backlog` bytes behind: the server waits at its pipe until the subscription has
 * been read. While the client waits for a call, a prompt or the exit, everything is read; a subscription that is more
 * than eight times as far behind then ends with a LaggingError, except while the client closes.
 */
export class Client<D extends Dialect> {
  /** State of the session, updated by every frame. */
  readonly session: SessionState<D>;
  readonly #tables: Tables;
  readonly #options: Options<D>;
  /** Whether the server was running before, so that its first frames are over. */
  readonly #joins: boolean;
  readonly #server: Transport;
  readonly #chunks: Chunks;
  readonly #calls: Calls;
  readonly #dialogs: Dialogs;
  readonly #tools: HostTools;
  readonly #runs: Runs;
  readonly #subscriptions: Subscriptions<EventOf<D>>;
  readonly #ready = deferred<Frame>();
  /** Reason of the end of the connection; undefined before. */
  #failure: ((what: string) => Error) | undefined;
  #isReady = false;
  /** Number of callers that wait for frames. */
  #waiting = 0;

  /** Starts a server, or connects to one that runs. */
  protected constructor(tables: Tables, options: Options<D>, connect?: Connect) {
    const command = options.command ?? ["pi-rpc", "serve", "--dialect", tables.dialect];
    const send = (frame: Frame): void => {
      this.#server.write(line(frame));
      this.session.sent(frame);
    };
    this.#tables = tables;
    this.#options = options;
    this.#joins = connect !== undefined;
    this.session = new SessionState(tables, { fresh: !this.#joins });
    const ask = (signal: AbortSignal): Promise<Busy> => this.request("get_state", {}, { signal }) as Promise<Busy>;
    this.#runs = new Runs(this.session.flow, () => this.session.rest(), ask);
    this.#chunks = new Chunks(tables.frameLimits);
    this.#calls = new Calls(tables);
    this.#subscriptions = new Subscriptions(options.backlog ?? 8 * 1024 * 1024, () => this.#regulate());
    this.#dialogs = new Dialogs(tables, (answer) => send(answer as Frame & typeof answer), (message, cause) => this.#warn(message, cause));
    this.#dialogs.handlers = options.onDialog ?? {};
    this.#tools = new HostTools((frame) => send(frame as Frame & typeof frame));
    const start = connect ?? startProcess([...command, ...(options.args ?? [])], options);
    this.#server = start({
      lines: (texts) => this.#read(texts),
      failed: (error) => this.#breakOff(error),
      skipped: () => this.session.lost(),
    });
    void this.#server.exited.then((exit) => this.#end(exit));
  }

  /** Id of the process of the server, and of its process group. */
  get pid(): number | undefined {
    return this.#server.pid;
  }

  /** Activity of the session: a state of the chart, such as `idle` or `streaming.tools`. */
  get state(): string {
    return this.session.flow.state;
  }

  /** Exit of the server; pending until then. */
  get exited(): Promise<Exit> {
    return this.#server.exited;
  }

  /** Resolves to this client once the server accepts commands. */
  protected async ready(): Promise<this> {
    const { readyTimeoutMs: timeoutMs = 30_000 } = this.#options;
    try {
      // A server without a `ready` frame is ready when it responds.
      const isFirst = this.#tables.saysReady && !this.#joins;
      const ready = isFirst ? this.#ready.promise.then((frame) => this.#negotiate(frame)) : this.request("get_state", {});
      await within(ready, "the server's first word", { timeoutMs });
      this.#isReady = true;
      return this;
    } catch (error) {
      await this.close({ graceMs: 0 });
      throw error;
    }
  }

  /** Selects the highest version of the protocol that both sides have. */
  async #negotiate({ protocolVersion: current, supportedProtocolVersions: offered }: Frame): Promise<void> {
    const { protocolVersion: highest = 2 } = this.#options;
    if (!Array.isArray(offered)) return;
    const version = Math.max(...offered.filter((version) => version <= highest));
    if (version > Number(current)) await this.request("negotiate_protocol", { protocolVersion: version });
  }

  /**
   * Sends a command and returns the `data` of its response. A command that the state refuses is not sent.
   *
   * Servers report some failures without an id. With a server that works in order, such an error belongs to the first
   * open command; else it is assigned to the newest open call, and to `bash`, `prompt` and `get_state` only if there is
   * no other.
   */
  async call<C extends CommandOf<D>>(
    command: C,
    fields: D["commands"][C]["fields"],
    options: CallOptions = {},
  ): Promise<D["commands"][C]["result"]> {
    return this.request(command, fields, options);
  }

  /** Sends a command that may be unknown to this package. */
  async request(command: string, fields: object, options: CallOptions = {}): Promise<unknown> {
    return this.#answered(this.#send(command, fields, options), options);
  }

  /** Error text with which the server would refuse a command now; undefined: accepted, as far as known. */
  refusal<C extends CommandOf<D>>(command: C, fields: D["commands"][C]["fields"]): string | undefined {
    return this.session.flow.refusal(command, { ...fields, type: command });
  }

  /**
   * Sends a prompt and waits until the session is idle again: until the end of the run and of what follows by itself
   * (retries, queued messages, a compaction). If the server reports that an extension handled the prompt, waits for no
   * run. A `signal` aborts the run. A failed run is not an error here; see the `stopReason` of its last message.
   *
   * A run and what follows it count as one: if a second prompt was queued, both prompts end when
   * nothing follows any more, and both return the text of the last answer.
   */
  async prompt(
    prompt: string | D["commands"]["prompt"]["fields"],
    options: CallOptions = {},
  ): Promise<RunOf<D>> {
    const fields = typeof prompt === "string" ? { message: prompt } : prompt;
    const { changes } = this.session.flow;
    const call = this.#send("prompt", fields, options);
    const { messages, ended } = this.#runs.begin(call.id);
    const abort = (): void => void this.request("abort", {}).catch(() => {});
    options.signal?.addEventListener("abort", abort, { once: true });
    try {
      const done = (signal: AbortSignal): Promise<void> =>
        this.#answered(call, { signal }).then(async (data) => {
          if (isHandled(data)) return this.session.flow.drop();
          // A command of an extension may lead to a run; the server reports if it does not.
          const isUndecided = fields.message.startsWith("/") && data === undefined && this.#isKnown({ type: "prompt_result" });
          if (isUndecided && this.session.flow.changes === changes) await this.#runs.started();
          return this.#runs.settled(signal);
        });
      const work = (signal: AbortSignal) => Promise.race([done(signal), ended.promise]);
      await this.#reading(limited(work, "prompt", options));
      return { text: lastText(messages), messages: messages as D["message"][] };
    } finally {
      options.signal?.removeEventListener("abort", abort);
      this.#runs.end(call.id);
    }
  }

  /** Waits until the session is idle: no run, retry or compaction is under way or follows by itself. */
  async waitForIdle(options: WaitOptions = {}): Promise<void> {
    const idle = limited((signal) => this.#runs.settled(signal), "waiting for the session to be idle", options);
    await this.#reading(idle);
  }

  /**
   * Subscribes to events from now on. The first subscription before any command also has the events
   * since the start, up to `backlog`. A subscription must be read or closed.
   */
  events(): Subscription<EventOf<D>> {
    return this.#subscriptions.add();
  }

  /** Sets the dialog callbacks, and replaces earlier ones. */
  onDialog(handlers: DialogHandlers<D>): void {
    this.#dialogs.handlers = handlers;
  }

  /** Ends the server: closes its input, after `graceMs` (5,000) sends SIGTERM, then SIGKILL to its group. */
  async close({ graceMs = 5000 }: { readonly graceMs?: number } = {}): Promise<Exit> {
    this.#subscriptions.keepAll();
    this.#regulate();
    return this.#server.close(graceMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Registers host tools with the given command, and replaces earlier ones. */
  protected async lend<T extends { readonly name: string }>(
    tools: readonly HostTool<T>[],
    tell: (definitions: T[]) => Promise<unknown>,
  ): Promise<void> {
    this.#tools.tools = new Map(tools.map((tool): [string, Run] => [tool.name, tool.run.bind(tool)]));
    await tell(tools.map(({ run: _, ...definition }) => definition as unknown as T));
  }

  #send(command: string, fields: object, { anyway = false, signal }: CallOptions): Call {
    signal?.throwIfAborted();
    if (this.#failure !== undefined) throw this.#failure(command);
    const refusal = this.session.flow.refusal(command, { ...fields, type: command });
    if (refusal !== undefined && !anyway) throw new IllegalCommandError(command, this.state, refusal);
    const call = this.#calls.begin(command);
    const frame = { ...fields, id: call.id, type: command };
    this.#server.write(line(frame));
    this.session.sent(frame);
    if (this.#isReady) this.#subscriptions.begin();
    return call;
  }

  async #answered(call: Call, { timeoutMs = this.#options.timeoutMs, signal }: WaitOptions = {}): Promise<unknown> {
    try {
      return await this.#reading(within(call.answer.promise, call.command, { timeoutMs, signal }));
    } finally {
      this.#calls.forget(call);
    }
  }

  /** `awaited`; until then everything is read. */
  async #reading<T>(awaited: Promise<T>): Promise<T> {
    this.#waiting += 1;
    this.#regulate();
    try {
      return await awaited;
    } finally {
      this.#waiting -= 1;
      this.#regulate();
    }
  }

  #read(texts: readonly string[]): void {
    try {
      for (const text of texts) this.#receive(text);
    } catch (error) {
      this.#breakOff(error);
    }
    this.#regulate();
  }

  #breakOff(error: unknown): void {
    this.#fail((what) => new ProtocolError(what, { cause: error }));
    this.#server.kill("SIGKILL");
  }

  #receive(text: string): void {
    const frame = parse(text);
    const whole = this.#chunks.take(frame);
    if (whole === undefined) return;
    if (whole !== null) return this.#receive(whole);
    if (frame === undefined) {
      // An unreadable frame may have changed any member.
      if (text.trimStart().startsWith("{")) this.session.lost();
      if (text.trim() !== "") this.#warn("the server wrote a line that is no frame", text.slice(0, 200));
      return;
    }
    const { changes } = this.session.flow;
    this.session.received(frame);
    if (frame.type === "response") this.#respond(frame, text.length);
    else this.#happen(frame, changes, text.length);
  }

  #respond(frame: Frame, size: number): void {
    if (this.#calls.answer(frame) !== undefined || this.#calls.isLate(frame)) return;
    if (!this.#runs.refuse(frame)) this.#subscriptions.push({ type: "unknown", frame }, size);
  }

  #happen(frame: Frame, changes: number, size: number): void {
    this.#runs.see(frame, changes);
    if (frame.type === "ready") this.#ready.resolve(frame);
    if (frame.type === "prompt_result") this.#runs.handled(frame["id"], frame["agentInvoked"]);
    if (frame.type === "extension_ui_request") void this.#dialogs.ask(frame as Frame & RpcExtensionUIRequest);
    if (frame.type === "host_tool_call") void this.#tools.call(frame as Frame & HostToolCall);
    if (frame.type === "host_tool_cancel") this.#tools.cancel(frame as Frame & HostToolCancel);
    this.#subscriptions.push(this.#isKnown(frame) ? (frame as EventOf<D>) : { type: "unknown", frame }, size);
  }

  #isKnown({ type, method }: Frame): boolean {
    if (type === "extension_ui_request") return this.#tables.dialogs[String(method)] !== undefined;
    return this.#tables.events.includes(type);
  }

  /** Pauses reading while a subscription is too far behind, unless a caller waits for a later frame. */
  #regulate(): void {
    this.#server.hold(this.#subscriptions.areBehind() && this.#waiting === 0);
  }

  #end(exit: Exit): void {
    this.#fail((what) => exit.failure ?? new ClosedError(what, exit));
    this.#subscriptions.end();
    this.#dialogs.end();
    this.#tools.end();
  }

  #fail(failure: (what: string) => Error): void {
    this.#failure ??= failure;
    this.#ready.reject(this.#failure("spawn"));
    this.session.flow.fail(this.#failure("waiting for the session"));
    this.#calls.fail(this.#failure);
  }

  #warn(message: string, cause: unknown): void {
    const { onWarning } = this.#options;
    const warning = `pi-rpc-client: ${message}: ${String(cause)}`;
    if (onWarning !== undefined) onWarning(message, cause);
    else if (typeof process === "undefined") console.warn(warning);
    else process.emitWarning(warning);
  }
}

function parse(text: string): Frame | undefined {
  try {
    const value = JSON.parse(text) as Partial<Frame> | null;
    return typeof value?.type === "string" ? (value as Frame) : undefined;
  } catch {
    return undefined;
  }
}
