/** The stand-ins' way to the server: what `main.mjs` has put where they find it. */

/**
 * @typedef {object} Bridge
 * @property {string} api Version of pi whose interface extensions get.
 * @property {string} cwd The working directory.
 * @property {string} agentDirectory The agent's own directory.
 * @property {string} version Version of the server.
 * @property {(about: string, more?: object) => any} query Asks, and waits for the answer.
 * @property {(frame: object, signal?: AbortSignal) => Promise<any>} request Has something done; an aborted signal ends it early.
 */

/** @returns {Bridge} */
export function bridge() {
  const found = globalThis[Symbol.for("pi-rpc.host")];
  if (!found) throw new Error("this function works only in an extension that pi-rpc runs");
  return found;
}
