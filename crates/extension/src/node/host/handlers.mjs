/** Calls the handlers of an event, one after another. */
import { createContext } from "./context.mjs";
import { within } from "./scope.mjs";

/** Returned by `call` to skip the remaining handlers. */
export const STOP = Symbol("stop");

/**
 * Calls the handlers of all extensions, in order. An error of one is reported, and the next is called.
 * @param {import("./host.mjs").Host} host
 * @param {string} type The event.
 * @param {(handler: Function, ctx: any, member: import("./member.mjs").Member) => unknown} call
 * @param {(error: unknown, member: import("./member.mjs").Member) => void} [failed] Handles an error instead of reporting it.
 * @param {any} [ctx] Context of the handlers; by default a new one.
 */
export async function callHandlers(host, type, call, failed, ctx) {
  const { generation } = host;
  const given = ctx ?? createContext(host, generation);
  for (const [member, handler] of generation.handlers(type)) {
    try {
      if ((await within({ path: member.path }, () => call(handler, given, member))) === STOP) return;
    } catch (error) {
      if (failed) failed(error, member);
      else host.reportError(member.path, type, error);
    }
  }
}
