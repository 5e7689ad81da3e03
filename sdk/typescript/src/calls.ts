import { RpcError } from "./errors.js";
import type { Frame, Tables } from "./tables.js";
import { deferred, type Deferred } from "./wait.js";

/** The commands whose answers are waited for while others fail: long, or, as `get_state`, asked by this client itself. */
const SLOW: readonly string[] = ["bash", "prompt", "get_state"];

/** A command that was sent. */
export interface Call {
  readonly id: string;
  readonly command: string;
  /** The `data` of its response. */
  readonly answer: Deferred<unknown>;
}

/** The commands that are not answered yet. */
export class Calls {
  readonly #tables: Tables;
  readonly #open = new Map<string, Call>();
  /** Those that nobody waits for any longer. */
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

  /** Nobody waits for it any longer. */
  forget({ id }: Call): void {
    if (this.#open.delete(id)) this.#forgotten.add(id);
  }

  /** Whether it is the response to a call that was forgotten. */
  isLate({ id }: Frame): boolean {
    return typeof id === "string" && this.#forgotten.delete(id);
  }

  /** Hands a response to the call that it answers; undefined: to none. */
  answer(response: Frame): Call | undefined {
    const { id } = response;
    const call = typeof id === "string" ? this.#open.get(id) : unnamed(this.#open.values(), response, this.#tables);
    if (call === undefined) return undefined;
    this.#open.delete(call.id);
    if (response["success"] === true) call.answer.resolve(response["data"]);
    else call.answer.reject(new RpcError(call.command, String(response["error"])));
    return call;
  }

  fail(error: (what: string) => Error): void {
    for (const call of this.#open.values()) call.answer.reject(error(call.command));
    this.#open.clear();
  }
}

/**
 * The call that an error without id is for: servers drop the id of what they could not read, and some that of a command
 * that failed. One that works through them in order means the first, any other most likely the last but for `SLOW`.
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
