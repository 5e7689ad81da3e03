/**
 * Modules between an extension and what it imports. pi's own loader reads a missing name as `undefined`, takes the default of a CommonJS
 * package for the default, and knows all names of it; Node does neither. A bridge has just the names that one module asks for.
 */
import { pathToFileURL } from "node:url";
import { namesOf } from "./standins/index.mjs";

/** @typedef {import("./packages.mjs").Found | { commonjs: string }} Target */

/** @type {Map<string, { target: Target, names: string[] }>} */
const bridges = new Map();

/**
 * The address that a module imports: a bridge, or the target itself where no bridge is needed.
 * @param {Target} target The imported module.
 * @param {string[]} names Names that are imported; `*` for all.
 * @returns {string} An address for `import`.
 */
export function bridgeTo(target, names) {
  // `import()` and `require` name nothing.
  const wantedNames = names.length === 0 ? ["*"] : [...new Set(names)].sort();
  if ("url" in target && !target.member && wantedNames.join() === "*") return target.url;
  const what = "commonjs" in target ? target.commonjs : `${target.url}#${target.member ?? ""}`;
  const url = `pi-rpc:${encodeURI(what)}?${encodeURIComponent(wantedNames.join())}`;
  bridges.set(url, { target, names: wantedNames });
  return url;
}

/**
 * The program of a bridge.
 * @param {string} url Its address.
 * @param {(file: string) => string[]} namesOfCommonJs The names that a CommonJS file exports; it is run to find out.
 * @returns {string} A module.
 */
export function bridgeSource(url, namesOfCommonJs) {
  const bridge = bridges.get(url);
  if (!bridge) throw new Error(`No such module: ${url}`);
  const { target, names } = bridge;
  const all = names.includes("*");
  const wantedNames = names.filter((name) => name !== "*");
  if ("commonjs" in target) {
    const file = pathToFileURL(target.commonjs).href;
    const found = all ? namesOfCommonJs(target.commonjs).filter((name) => name !== "default") : [];
    return [
      `import { createRequire } from "node:module";`,
      `const real = createRequire(${JSON.stringify(file)})(${JSON.stringify(target.commonjs)});`,
      ...exportsOf([...new Set([...wantedNames, ...found, ...(all ? ["default"] : [])])], (name) =>
        name === "default" ? `real?.__esModule && "default" in real ? real.default : real` : `real?.[${JSON.stringify(name)}]`,
      ),
    ].join("\n");
  }
  if (target.member !== undefined) {
    const found = all ? namesOf(target.standin) : [];
    return [
      `import { VIRTUAL_MODULES } from ${JSON.stringify(target.url)};`,
      `const real = VIRTUAL_MODULES[${JSON.stringify(target.member)}] ?? {};`,
      ...exportsOf([...new Set([...wantedNames, ...found])], (name) => `real[${JSON.stringify(name)}]`),
    ].join("\n");
  }
  const known = target.standin ? new Set(namesOf(target.standin)) : undefined;
  return [
    `import * as real from ${JSON.stringify(target.url)};`,
    ...(all ? [`export * from ${JSON.stringify(target.url)};`] : []),
    ...(known ? [`import { missing } from ${JSON.stringify(new URL("./standins/missing.mjs", import.meta.url).href)};`] : []),
    // A name that pi does not have either is not exported, so that Node reports it.
    ...exportsOf(known ? wantedNames.filter((name) => known.has(name)) : wantedNames, (name) => valueOf(name, target.standin)),
  ].join("\n");
}

function valueOf(name, standin) {
  const key = JSON.stringify(name);
  if (standin) return `${key} in real ? real[${key}] : missing(${JSON.stringify(standin)}, ${key})`;
  return name === "default" ? `"default" in real ? real.default : real` : `real[${key}]`;
}

function exportsOf(names, value) {
  return names.map((name, index) => `const v${index} = ${value(name)}; export { v${index} as ${JSON.stringify(name)} };`);
}
