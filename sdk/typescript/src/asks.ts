// The dialect that has all of these.
import type {
  AgentToolResult,
  HostToolCall,
  HostToolCancel,
  HostToolResult,
  HostToolUpdate,
  RpcExtensionUIRequest,
  RpcExtensionUIResponse,
} from "./generated/xcsh.types.js";
import type { Tables } from "./tables.js";

/** What a callback learns besides the question. */
export interface Asked {
  /** Aborted when nobody waits for the answer any longer. */
  readonly signal: AbortSignal;
}

type Handler = (request: never, asked: Asked) => unknown;
type Warn = (message: string, error: unknown) => void;

/** The longest time that Node.js can wait for, in milliseconds: 24 days. */
const LONGEST_MS = 2 ** 31 - 1;

/** Dialogs: what extensions ask of the user, answered by callbacks. A dialog that has none is cancelled. */
export class Dialogs {
  handlers: { readonly [method: string]: Handler | undefined } = {};
  readonly #open = new Map<string, AbortController>();

  constructor(
    private readonly tables: Tables,
    private readonly send: (answer: RpcExtensionUIResponse) => void,
    private readonly warn: Warn,
  ) {}

  /** Answers a request; what only shows something needs none. */
  async ask(request: RpcExtensionUIRequest): Promise<void> {
    const { id, method } = request;
    if (method === "cancel") this.#open.get(request.targetId)?.abort();
    const member = this.tables.dialogs[method];
    if (typeof member !== "string") return;
    const withdrawn = new AbortController();
    this.#open.set(id, withdrawn);
    const limit = this.#limit(request);
    const late = limit === undefined ? undefined : setTimeout(() => withdrawn.abort(), limit);
    const answer = await this.#answer(method, request, withdrawn.signal);
    clearTimeout(late);
    this.#open.delete(id);
    // Servers pass over an answer that comes too late, and their clock is the one that counts.
    this.#reply(id, method, answer === undefined ? { cancelled: true } : { [member]: answer });
  }

  /** Nobody waits for answers any longer. */
  end(): void {
    for (const withdrawn of this.#open.values()) withdrawn.abort();
  }

  /** How long the server waits for the answer, in milliseconds; undefined: until it comes. */
  #limit(request: RpcExtensionUIRequest): number | undefined {
    const limit = "timeout" in request ? request.timeout : undefined;
    if (typeof limit !== "number" || (limit === 0 && !this.tables.zeroTimeoutExpires)) return undefined;
    return Math.min(limit, LONGEST_MS);
  }

  #reply(id: string, method: string, said: object): void {
    const type = "extension_ui_response";
    try {
      this.send({ type, id, ...said } as RpcExtensionUIResponse);
    } catch (error) {
      this.warn(`what the callback for the dialog ${method} answered is no JSON`, error);
      this.send({ type, id, cancelled: true });
    }
  }

  async #answer(method: string, request: RpcExtensionUIRequest, signal: AbortSignal): Promise<unknown> {
    try {
      return await this.handlers[method]?.(request as never, { signal });
    } catch (error) {
      this.warn(`the callback for the dialog ${method} failed`, error);
      return undefined;
    }
  }
}

/** What a host tool returns, and shows while it runs; a text stands for a result with that text. */
export type ToolResult = string | AgentToolResult;

/** What a host tool learns besides its arguments. */
export interface ToolCall extends Asked {
  /** The id of the call in the assistant's message. */
  readonly toolCallId: string;
  /** Shows how far it has come: everything so far, not only what is new. */
  update(soFar: ToolResult): void;
}

/** How a host tool is carried out; nothing is an empty result. What it throws is the failure that the model is told. */
export type Run = (
  args: HostToolCall["arguments"],
  call: ToolCall,
) => ToolResult | void | Promise<ToolResult | void>;

/** Host tools: tools of the model that this side carries out. */
export class HostTools {
  tools = new Map<string, Run>();
  readonly #open = new Map<string, AbortController>();

  constructor(private readonly send: (frame: HostToolUpdate | HostToolResult) => void) {}

  /** Carries out a call. */
  async call({ id, toolName, toolCallId, arguments: args }: HostToolCall): Promise<void> {
    const cancelled = new AbortController();
    const { signal } = cancelled;
    this.#open.set(id, cancelled);
    const tell = (frame: HostToolUpdate | HostToolResult): void => {
      if (this.#open.has(id) && !signal.aborted) this.send(frame);
    };
    const update = (soFar: ToolResult): void =>
      tell({ type: "host_tool_update", id, partialResult: result(soFar) });
    try {
      const run = this.tools.get(toolName);
      if (run === undefined) throw new Error(`the host has no tool ${toolName}`);
      const returned = await run(args, { toolCallId, signal, update });
      tell({ type: "host_tool_result", id, result: result(returned) });
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      tell({ type: "host_tool_result", id, result: result(text), isError: true });
    }
    this.#open.delete(id);
  }

  /** The server does not wait for a call any longer. */
  cancel({ targetId }: HostToolCancel): void {
    this.#open.get(targetId)?.abort();
  }

  /** Nobody waits for results any longer. */
  end(): void {
    for (const cancelled of this.#open.values()) cancelled.abort();
  }
}

/** A server takes nothing but a result with content; who writes a tool in JavaScript may return anything. */
function result(said: ToolResult | void | null): AgentToolResult {
  if (typeof said === "string") return { content: [{ type: "text", text: said }] };
  if (said === undefined || said === null) return { content: [] };
  if (!Array.isArray(said.content)) throw new TypeError("the tool returned neither a text nor an object with content");
  return said;
}
