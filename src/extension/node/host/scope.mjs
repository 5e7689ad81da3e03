/** On whose behalf something is done: known wherever the code of an extension goes on, however long after. */
import { AsyncLocalStorage } from "node:async_hooks";

/**
 * @typedef {object} Scope
 * @property {string} [origin] Id of the request of the server.
 * @property {AbortSignal} [signal] Aborted when the request is not wanted any more.
 * @property {boolean} [inRun] The request belongs to a run.
 * @property {string} [path] The extension whose code runs.
 */

const storage = new AsyncLocalStorage();

/** @returns {Scope} */
export function scope() {
  return storage.getStore() ?? {};
}

/**
 * @template T
 * @param {Scope} more What differs from the scope around.
 * @param {() => T} run
 * @returns {T}
 */
export function within(more, run) {
  return storage.run({ ...scope(), ...more }, run);
}

/** The scope of something that nobody has asked for, as a field of frames. */
export function origin() {
  const { origin } = scope();
  return origin === undefined ? {} : { origin };
}
