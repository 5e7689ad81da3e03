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

/** Context of a dialog callback. */
export interface Asked {
  /** Aborted when the response is no longer needed. */
  readonly signal: AbortSignal;
}

type Handler = (request: never, asked: Asked) => unknown;
type Warn = (message: string, error: unknown) => void;

/** Longest timer of Node.js in milliseconds: 24 days. */
const LONGEST_MS = 2 ** 31 - 1;

/** Dialogs of extensions, answered by callbacks. A dialog without a callback is cancelled. */
export class Dialogs {
  handlers: { readonly [method: string]: Handler | undefined } = {};
  readonly #open = new Map<string, AbortController>();

  constructor(
    private readonly tables: Tables,
    private readonly send: (answer: RpcExtensionUIResponse) => void,
    private readonly warn: Warn,
  ) {}

  /** Answers a dialog; notices are ignored. */
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
    // Servers ignore a late response, and their clock decides.
    this.#reply(id, method, answer === undefined ? { cancelled: true } : { [member]: answer });
  }

  /** Aborts all open callbacks. */
  end(): void {
    for (const withdrawn of this.#open.values()) withdrawn.abort();
  }

  /** Time limit of the dialog in milliseconds; undefined: none. */
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

/** Result or progress of a host tool; a string is a result with that text. */
export type ToolResult = string | AgentToolResult;

/** Context of a host tool call. */
export interface ToolCall extends Asked {
  /** Id of the tool call in the assistant message. */
  readonly toolCallId: string;
  /** Reports progress: the complete result so far, not a delta. */
  update(soFar: ToolResult): void;
}

/** Implementation of a host tool; undefined is an empty result. An exception fails the call. */
export type Run = (
  args: HostToolCall["arguments"],
  call: ToolCall,
) => ToolResult | void | Promise<ToolResult | void>;

/** Host tools, which this side executes. */
export class HostTools {
  tools = new Map<string, Run>();
  readonly #open = new Map<string, AbortController>();

  constructor(private readonly send: (frame: HostToolUpdate | HostToolResult) => void) {}

  /** Executes a call. */
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

  /** Aborts a call that the server has cancelled. */
  cancel({ targetId }: HostToolCancel): void {
    this.#open.get(targetId)?.abort();
  }

  /** Aborts all open calls. */
  end(): void {
    for (const cancelled of this.#open.values()) cancelled.abort();
  }
}

/** Converts a return value into a result with content, as tools in JavaScript may return anything. */
function result(said: ToolResult | void | null): AgentToolResult {
  if (typeof said === "string") return { content: [{ type: "text", text: said }] };
  if (said === undefined || said === null) return { content: [] };
  if (!Array.isArray(said.content)) throw new TypeError("the tool returned neither a text nor an object with content");
  return said;
}
