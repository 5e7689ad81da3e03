/** The handlers of an event, one after another. */
import { createContext } from "./context.mjs";
import { within } from "./scope.mjs";

/** Given by what is done with a handler, it keeps the rest from being asked. */
export const STOP = Symbol("stop");

/**
 * Goes through the handlers of all extensions, in order; one that fails is told of, and the next one is next.
 * @param {import("./host.mjs").Host} host
 * @param {string} type The event.
 * @param {(handler: Function, ctx: any, member: import("./member.mjs").Member) => unknown} call
 * @param {(error: unknown, member: import("./member.mjs").Member) => void} [failed] What to do instead with an error.
 * @param {any} [ctx] What handlers are given, if not the usual.
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
