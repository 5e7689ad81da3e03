import { Dialogs, HostTools, type Run } from "./asks.js";
import { Calls, type Call } from "./calls.js";
import type { CommandOf, Dialect, DialogHandlers, EventOf, HostTool, RunOf } from "./dialect.js";
import { ClosedError, IllegalCommandError, ProtocolError, type Exit } from "./errors.js";
import { line, Lines } from "./framing.js";
import type { HostToolCall, HostToolCancel, RpcExtensionUIRequest } from "./generated/xcsh.types.js";
import { Server } from "./process.js";
import { disposition, lastText, Runs, type Busy } from "./runs.js";
import { SessionState } from "./session.js";
import { Subscriptions, type Subscription } from "./subscription.js";
import type { Frame, Tables } from "./tables.js";
import { deferred, limited, within, type WaitOptions } from "./wait.js";

/** How a server is started, and what it may ask of this side. Times are milliseconds. */
export interface Options<D extends Dialect = Dialect> {
  /** The program and its arguments; absent: `pi-rpc serve --dialect …`. */
  readonly command?: readonly string[] | undefined;
  /** Arguments to add. */
  readonly args?: readonly string[] | undefined;
  /** Its working directory; absent: this process's. */
  readonly cwd?: string | undefined;
  /** Its environment; absent: this process's. */
  readonly env?: NodeJS.ProcessEnv | undefined;
  /** How long calls are waited for that do not say; absent: for ever. */
  readonly timeoutMs?: number | undefined;
  /** How long its first word is waited for (30,000). */
  readonly readyTimeoutMs?: number | undefined;
  /** The longest line that is read, in bytes (256 Mi). */
  readonly longestLine?: number | undefined;
  /** How far a subscription may be behind before reading stops, in bytes, as characters of JSON count them (8 Mi). */
  readonly backlog?: number | undefined;
  /** Answers dialogs from the start; servers may ask before they take commands. Absent: see `Client.onDialog`. */
  readonly onDialog?: DialogHandlers<D> | undefined;
  /** Told of what is wrong and stops nothing; absent: a warning of the process. */
  readonly onWarning?: ((message: string, cause: unknown) => void) | undefined;
}

/** How a command is called. */
export interface CallOptions extends WaitOptions {
  /** Send it also where the state refuses it: the server has the last word. */
  readonly anyway?: boolean | undefined;
}

/**
 * A server and the conversation with it. The generated clients add a method for each command of their dialect.
 *
 * Reading stops when a subscription is `backlog` bytes behind: the server waits at its pipe until the subscription has
 * been read. While a call, a prompt or the end is waited for, everything is read; a subscription that is more than eight
 * times as far behind ends with a LaggingError, but for what comes while the client closes.
 */
export class Client<D extends Dialect> {
  /** What the frames have told of the session so far; kept up as they come. */
  readonly session: SessionState<D>;
  readonly #tables: Tables;
  readonly #options: Options<D>;
  readonly #server: Server;
  readonly #lines: Lines;
  readonly #calls: Calls;
  readonly #dialogs: Dialogs;
  readonly #tools: HostTools;
  readonly #runs: Runs;
  readonly #subscriptions: Subscriptions<EventOf<D>>;
  readonly #ready = deferred<void>();
  /** Why nothing more comes, once that is so. */
  #failure: ((what: string) => Error) | undefined;
  #isReady = false;
  /** How many wait for what the server says. */
  #waiting = 0;

  protected constructor(tables: Tables, options: Options<D>) {
    const command = options.command ?? ["pi-rpc", "serve", "--dialect", tables.dialect];
    const send = (frame: Frame): void => {
      this.#server.write(line(frame));
      this.session.sent(frame);
    };
    this.#tables = tables;
    this.#options = options;
    this.#lines = new Lines(options.longestLine ?? 256 * 1024 * 1024);
    this.session = new SessionState(tables, { fresh: true });
    const ask = (signal: AbortSignal): Promise<Busy> => this.request("get_state", {}, { signal }) as Promise<Busy>;
    this.#runs = new Runs(this.session.flow, () => this.session.rest(), ask);
    this.#calls = new Calls(tables);
    this.#subscriptions = new Subscriptions(options.backlog ?? 8 * 1024 * 1024, () => this.#regulate());
    this.#dialogs = new Dialogs(tables, (answer) => send(answer as Frame & typeof answer), (message, cause) => this.#warn(message, cause));
    this.#dialogs.handlers = options.onDialog ?? {};
    this.#tools = new HostTools((frame) => send(frame as Frame & typeof frame));
    this.#server = new Server([...command, ...(options.args ?? [])], options, (chunk) => this.#read(chunk));
    void this.#server.exited.then((exit) => this.#end(exit));
  }

  /** The id of the server's process, which is that of its process group, too. */
  get pid(): number | undefined {
    return this.#server.pid;
  }

  /** What goes on in the session, as the protocol's chart names it: `idle`, `streaming.tools` and so on. */
  get state(): string {
    return this.session.flow.state;
  }

  /** How the server ended, when it has. */
  get exited(): Promise<Exit> {
    return this.#server.exited;
  }

  /** This client, when the server takes commands. */
  protected async ready(): Promise<this> {
    const { readyTimeoutMs: timeoutMs = 30_000 } = this.#options;
    try {
      // A server that does not say so is ready when it answers.
      const ready = this.#tables.saysReady ? this.#ready.promise : this.request("get_state", {});
      await within(ready, "the server's first word", { timeoutMs });
      this.#isReady = true;
      return this;
    } catch (error) {
      await this.close({ graceMs: 0 });
      throw error;
    }
  }

  /**
   * Sends a command and waits for the `data` of its response. One that the state refuses is not sent.
   *
   * Servers answer some failures without an id. One that answers in order means the command whose turn it is; of any
   * other it is taken for the failure of the newest call that waits, of `bash`, `prompt` and `get_state` only where no
   * other does.
   */
  async call<C extends CommandOf<D>>(
    command: C,
    fields: D["commands"][C]["fields"],
    options: CallOptions = {},
  ): Promise<D["commands"][C]["result"]> {
    return this.request(command, fields, options);
  }

  /** The same for commands that this package does not know. */
  async request(command: string, fields: object, options: CallOptions = {}): Promise<unknown> {
    return this.#answered(this.#send(command, fields, options), options);
  }

  /** The words with which a command would be refused now; undefined: it is taken, as far as can be told. */
  refusal<C extends CommandOf<D>>(command: C, fields: D["commands"][C]["fields"]): string | undefined {
    return this.session.flow.refusal(command, { ...fields, type: command });
  }

  /**
   * Prompts, and waits until the session is idle again: until the run is over, and what follows it by itself (retries,
   * queued messages, a compaction); where the server says that an extension took it, for no run. A `signal` aborts the run. A run that failed is no error here: look at the `stopReason`
   * of its last message.
   *
   * A run and what follows it are one to this client: of two prompts, the second of which was queued, both are over when
   * nothing follows any more, and both have the text of the last answer.
   */
  async prompt(
    prompt: string | D["commands"]["prompt"]["fields"],
    options: CallOptions = {},
  ): Promise<RunOf<D>> {
    const fields = typeof prompt === "string" ? { message: prompt } : prompt;
    const call = this.#send("prompt", fields, options);
    const { messages, refused } = this.#runs.begin(call.id);
    const abort = (): void => void this.request("abort", {}).catch(() => {});
    options.signal?.addEventListener("abort", abort, { once: true });
    try {
      const done = (signal: AbortSignal): Promise<void> =>
        this.#answered(call, { signal }).then((data) =>
          disposition(data) === "handled" ? undefined : this.#runs.settled(signal),
        );
      const work = (signal: AbortSignal) => Promise.race([done(signal), refused.promise]);
      await this.#reading(limited(work, "prompt", options));
      return { text: lastText(messages), messages: messages as D["message"][] };
    } finally {
      options.signal?.removeEventListener("abort", abort);
      this.#runs.end(call.id);
    }
  }

  /** Waits until nothing goes on: no run, no retry, no compaction, and none that follows by itself. */
  async waitForIdle(options: WaitOptions = {}): Promise<void> {
    const idle = limited((signal) => this.#runs.settled(signal), "waiting for the session to be idle", options);
    await this.#reading(idle);
  }

  /**
   * What the server says by itself, from now on; the first that is made before any command is sent has also what came
   * since the start, unless that is more than `backlog`. It has to be read, or else closed.
   */
  events(): Subscription<EventOf<D>> {
    return this.#subscriptions.add();
  }

  /** Answers dialogs with these callbacks, in place of those before. */
  onDialog(handlers: DialogHandlers<D>): void {
    this.#dialogs.handlers = handlers;
  }

  /** Ends the server: its input first, after `graceMs` (5,000) the process by SIGTERM, then its group by SIGKILL. */
  async close({ graceMs = 5000 }: { readonly graceMs?: number } = {}): Promise<Exit> {
    this.#subscriptions.keepAll();
    this.#regulate();
    return this.#server.close(graceMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Lends tools to the model, in place of those before, by the command that tells the server. */
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

  #read(chunk: Buffer): void {
    try {
      for (const text of this.#lines.push(chunk)) this.#receive(text);
    } catch (error) {
      this.#fail((what) => new ProtocolError(what, { cause: error }));
      this.#server.kill("SIGKILL");
    }
    this.#regulate();
  }

  #receive(text: string): void {
    const frame = parse(text);
    if (frame === undefined) {
      // What was to be a frame may have changed anything.
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
    if (frame.type === "ready") this.#ready.resolve();
    if (frame.type === "extension_ui_request") void this.#dialogs.ask(frame as Frame & RpcExtensionUIRequest);
    if (frame.type === "host_tool_call") void this.#tools.call(frame as Frame & HostToolCall);
    if (frame.type === "host_tool_cancel") this.#tools.cancel(frame as Frame & HostToolCancel);
    this.#subscriptions.push(this.#isKnown(frame) ? (frame as EventOf<D>) : { type: "unknown", frame }, size);
  }

  #isKnown({ type, method }: Frame): boolean {
    if (type === "extension_ui_request") return this.#tables.dialogs[String(method)] !== undefined;
    return this.#tables.events.includes(type);
  }

  /** Makes the server wait while events wait to be read, unless somebody waits for what comes behind them. */
  #regulate(): void {
    this.#server.hold(this.#subscriptions.areBehind() && this.#waiting === 0);
  }

  #end(exit: Exit): void {
    this.#fail((what) => new ClosedError(what, exit));
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
    if (onWarning === undefined) process.emitWarning(`pi-rpc-client: ${message}: ${String(cause)}`);
    else onWarning(message, cause);
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
