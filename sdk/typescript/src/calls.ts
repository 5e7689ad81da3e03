import { RpcError } from "./errors.js";
import type { Frame, Tables } from "./tables.js";
import { deferred, type Deferred } from "./wait.js";

/** Commands that an error without an id hardly belongs to: slow ones, and `get_state`, which this client sends. */
const SLOW: readonly string[] = ["bash", "prompt", "get_state"];

/** Sent command. */
export interface Call {
  readonly id: string;
  readonly command: string;
  /** `data` of the response. */
  readonly answer: Deferred<unknown>;
}

/** Commands without a response. */
export class Calls {
  readonly #tables: Tables;
  readonly #open = new Map<string, Call>();
  /** Commands whose callers no longer wait. */
  readonly #forgotten = new Set<string>();
  #count = 0;

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  begin(command: string): Call {
    this.#count += 1;
    const call = { id: `c${this.#count}`, command, answer: deferred<unknown>() };
    this.#open.set(call.id, call);
    return call;
  }

  /** Marks a command whose caller no longer waits. */
  forget({ id }: Call): void {
    if (this.#open.delete(id)) this.#forgotten.add(id);
  }

  /** Whether a frame is the response to such a command. */
  isLate({ id }: Frame): boolean {
    return typeof id === "string" && this.#forgotten.delete(id);
  }

  /** Resolves the call of a response; undefined: there is none. */
  answer(response: Frame): Call | undefined {
    const { id } = response;
    const call = typeof id === "string" ? this.#open.get(id) : unnamed(this.#open.values(), response, this.#tables);
    if (call === undefined) return undefined;
    this.#open.delete(call.id);
    if (response["success"] === true) call.answer.resolve(response["data"]);
    else call.answer.reject(failure(call.command, response));
    return call;
  }

  fail(error: (what: string) => Error): void {
    for (const call of this.#open.values()) call.answer.reject(error(call.command));
    this.#open.clear();
  }
}

/** Error of a response. */
export function failure(command: string, { error, code }: Frame): RpcError {
  return new RpcError(command, String(error), typeof code === "string" ? code : undefined);
}

/**
 * The call that an error without an id belongs to: servers omit the id of unreadable lines, and some that of a command
 * that failed. With a server that works in order this is the first call, else probably the last one not in `SLOW`.
 */
export function unnamed<C extends { readonly command: string }>(
  open: Iterable<C>,
  { id, command, success }: Frame,
  { serial, control }: Tables,
): C | undefined {
  if (id !== undefined || success !== false) return undefined;
  const meant = [...open].filter((call) => command === "parse" || command === call.command);
  if (serial) return meant.find((call) => !control.includes(call.command)) ?? meant[0];
  return meant.findLast((call) => !SLOW.includes(call.command)) ?? meant.at(-1);
}
