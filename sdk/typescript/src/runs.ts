import { RpcError } from "./errors.js";
import type { Flow } from "./flow.js";
import type { AgentMessage, AssistantMessage, SessionState } from "./generated/xcsh.types.js";
import type { Frame } from "./tables.js";
import { deferred, soon, type Deferred } from "./wait.js";

/** How long a run that was promised is waited for, and how long one that queued messages may begin, in milliseconds. */
const PROMISED_MS = 2000;
const RESUMING_MS = 250;

/** How long the run of a prompt that was taken is waited for: an extension may have kept the prompt to itself. */
const STARTING_MS = 10_000;

/** How often a server that is busy without a word is asked again, in milliseconds. */
const ASK_AGAIN_MS = 50;

/** A prompt whose run is not over. */
export interface Prompt {
  /** Every message that was completed since. */
  readonly messages: AgentMessage[];
  /** Fails when the prompt is refused although it was acknowledged. */
  readonly refused: Deferred<never>;
}

/** What a server says of itself when it is asked. */
export type Busy = Pick<SessionState, "isStreaming" | "isCompacting">;

/** When runs are over, and what came of them. */
export class Runs {
  readonly #flow: Flow;
  readonly #rest: () => void;
  readonly #ask: (signal: AbortSignal) => Promise<Busy>;
  readonly #prompts = new Map<string, Prompt>();
  /** Until when an idle session may begin a run by itself. */
  #resumesUntil = 0;

  /** `ask`: whether the server is busy. `rest`: it is not, whatever the frames told. */
  constructor(flow: Flow, rest: () => void, ask: (signal: AbortSignal) => Promise<Busy>) {
    this.#flow = flow;
    this.#rest = rest;
    this.#ask = ask;
  }

  begin(id: string): Prompt {
    const prompt = { messages: [], refused: deferred<never>() };
    this.#prompts.set(id, prompt);
    return prompt;
  }

  end(id: string): void {
    this.#prompts.delete(id);
  }

  /** Takes note of an event; `changes`: how often the flow had changed before it. */
  see(event: Frame, changes: number): void {
    const { type, message, willRetry } = event;
    if (type === "message_end" && typeof message === "object" && message !== null) {
      for (const { messages } of this.#prompts.values()) messages.push(message as AgentMessage);
    }
    // What ends with a word on what follows is followed a little later, if at all.
    if (typeof willRetry === "boolean" && !this.#flow.settles && this.#flow.isIdle && this.#flow.changes !== changes) {
      this.#resumesUntil = Date.now() + (willRetry ? PROMISED_MS : RESUMING_MS);
    }
  }

  /** Takes note of a response that answers no call: the refusal of a prompt that was acknowledged before? */
  refuse({ id, success, error }: Frame): boolean {
    const prompt = success === false && typeof id === "string" ? this.#prompts.get(id) : undefined;
    prompt?.refused.reject(new RpcError("prompt", String(error)));
    return prompt !== undefined;
  }

  /** Nothing goes on, and the server says so, too: what it begins by itself it has begun before it answers. */
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

/** What became of a prompt, where the server says so: an extension may have taken it, and then no run follows. */
export function disposition(data: unknown): unknown {
  return (data as { readonly disposition?: unknown } | null | undefined)?.disposition;
}

/** The text of the last answer. */
export function lastText(messages: readonly AgentMessage[]): string {
  const answer = messages.findLast((message): message is AssistantMessage => message.role === "assistant");
  return (answer?.content ?? []).map((block) => (block.type === "text" ? block.text : "")).join("");
}
