import { ClientError } from "./errors.js";
import type { Receiver, Transport } from "./transport.js";

/** Stands for `process.js` where there are no processes: bundlers put it there by the field `browser` of package.json. */
export function startProcess(): (receiver: Receiver) => Transport {
  throw new ClientError("a page cannot start a server; connect to one: `connect(url)`");
}
