/** The request and the extension on whose behalf code runs; asynchronous code keeps them. */
import { AsyncLocalStorage } from "node:async_hooks";

/**
 * @typedef {object} Scope
 * @property {string} [origin] Id of the request of the server.
 * @property {AbortSignal} [signal] Aborts when the request is cancelled.
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
 * @param {Scope} more Fields that differ from the current scope.
 * @param {() => T} run
 * @returns {T}
 */
export function within(more, run) {
  return storage.run({ ...scope(), ...more }, run);
}

/** The field `origin` of frames that are no answers; without a request, no field. */
export function origin() {
  const { origin } = scope();
  return origin === undefined ? {} : { origin };
}
