import { failure } from "./calls.js";
import type { Flow } from "./flow.js";
import type { AgentMessage, AssistantMessage, SessionState } from "./generated/xcsh.types.js";
import type { Frame } from "./tables.js";
import { deferred, soon, type Deferred } from "./wait.js";

/** Time for an announced run, and for one of queued messages, to start, in milliseconds. */
const PROMISED_MS = 2000;
const RESUMING_MS = 250;

/** Time for the run of an acknowledged prompt to start; an extension may have handled the prompt. */
const STARTING_MS = 10_000;

/** Interval between queries of a server that is busy without frames, in milliseconds. */
const ASK_AGAIN_MS = 50;

/** Prompt whose run has not ended. */
export interface Prompt {
  /** Messages that were completed since the prompt. */
  readonly messages: AgentMessage[];
  /** Rejects if the prompt is refused after its acknowledgement; resolves if the server reports that no run follows. */
  readonly ended: Deferred<void>;
}

/** Relevant part of `get_state`. */
export type Busy = Pick<SessionState, "isStreaming" | "isCompacting">;

/** Detection of the end of runs, and their outcomes. */
export class Runs {
  readonly #flow: Flow;
  readonly #rest: () => void;
  readonly #ask: (signal: AbortSignal) => Promise<Busy>;
  readonly #prompts = new Map<string, Prompt>();
  /** Time until which an idle session may start a run by itself. */
  #resumesUntil = 0;

  /** `ask` queries whether the server is busy; `rest` is called if it is not, contrary to the frames. */
  constructor(flow: Flow, rest: () => void, ask: (signal: AbortSignal) => Promise<Busy>) {
    this.#flow = flow;
    this.#rest = rest;
    this.#ask = ask;
  }

  begin(id: string): Prompt {
    const prompt = { messages: [], ended: deferred<void>() };
    this.#prompts.set(id, prompt);
    return prompt;
  }

  end(id: string): void {
    this.#prompts.delete(id);
  }

  /** Handles an event; `changes` is the number of changes of the state before it. */
  see(event: Frame, changes: number): void {
    const { type, message, willRetry } = event;
    if (type === "message_end" && typeof message === "object" && message !== null) {
      for (const { messages } of this.#prompts.values()) messages.push(message as AgentMessage);
    }
    // What follows an announced end starts a little later.
    if (typeof willRetry === "boolean" && !this.#flow.settles && this.#flow.isIdle && this.#flow.changes !== changes) {
      this.#resumesUntil = Date.now() + (willRetry ? PROMISED_MS : RESUMING_MS);
    }
  }

  /** Handles a response without a call, which may refuse a prompt after its acknowledgement. */
  refuse(response: Frame): boolean {
    const { id, success } = response;
    const prompt = success === false && typeof id === "string" ? this.#prompts.get(id) : undefined;
    prompt?.ended.reject(failure("prompt", response));
    return prompt !== undefined;
  }

  /** Handles the report that a prompt was handled; without a run, unless `invoked`. */
  handled(id: unknown, invoked: unknown): void {
    if (invoked !== false) return;
    this.#flow.drop();
    if (typeof id === "string") this.#prompts.get(id)?.ended.resolve();
  }

  /** Waits until the run of an acknowledged prompt starts; it may lead to none. */
  async started(): Promise<void> {
    if (this.#flow.isIdle) await soon(this.#flow.changed(), STARTING_MS);
  }

  /** Waits until the session is idle and the server confirms that; it starts follow-up work before it responds. */
  async settled(signal: AbortSignal): Promise<void> {
    for (;;) {
      const { changes, isIdle, isTentative } = this.#flow;
      if (!isIdle) {
        const changed = this.#flow.changed();
        await (isTentative ? soon(changed, STARTING_MS) : changed);
        if (this.#flow.changes !== changes) continue;
      }
      const { isStreaming, isCompacting } = await this.#ask(signal);
      if (this.#flow.changes !== changes) continue;
      if (!isStreaming && !isCompacting && Date.now() >= this.#resumesUntil) return this.#rest();
      await soon(this.#flow.changed(), ASK_AGAIN_MS);
    }
  }
}

/** Whether the response to a prompt reports that no run follows. */
export function isHandled(data: unknown): boolean {
  const { disposition, agentInvoked } = (data ?? {}) as { readonly disposition?: unknown; readonly agentInvoked?: unknown };
  return disposition === "handled" || agentInvoked === false;
}

/** Text of the last assistant message. */
export function lastText(messages: readonly AgentMessage[]): string {
  const answer = messages.findLast((message): message is AssistantMessage => message.role === "assistant");
  return (answer?.content ?? []).map((block) => (block.type === "text" ? block.text : "")).join("");
}
