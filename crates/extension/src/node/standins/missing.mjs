/** What pi has and the stand-ins do not: it can be imported, and says what it is when it is used. */

import { scope } from "../host/scope.mjs";

const HARMLESS = new Set(["prototype", "name", "length", "then", "toJSON", "constructor"]);

/**
 * @param {string} pack The package of pi, without its scope.
 * @param {string} name What is exported there.
 * @returns {any} A class, function or object: whatever is done with it throws.
 */
export function missing(pack, name) {
  const fail = () => {
    const { path } = scope();
    const who = path ? `${path}: ` : "";
    throw new Error(`${who}${name} of ${pack} is not available: pi is not installed where extensions look for it, and its stand-in lacks it.`);
  };
  return new Proxy(class {}, {
    apply: fail,
    construct: fail,
    get: (target, key) => (typeof key === "symbol" || HARMLESS.has(key) ? Reflect.get(target, key) : fail()),
  });
}
