/** Which stand-ins there are for pi's packages, and which names pi's own have. Read only when an extension imports one. */
import * as fs from "node:fs";

/** @type {Record<string, { file: string, paths: RegExp }>} Modules of a package that share their stand-in. */
const STANDINS = {
  "pi-ai": { file: "pi-ai.mjs", paths: /^(\/(compat|models|oauth|providers\/all))?$/ },
  "pi-agent-core": { file: "pi-agent-core.mjs", paths: /^$/ },
  "pi-tui": { file: "pi-tui.mjs", paths: /^$/ },
  "pi-coding-agent": { file: "pi-coding-agent.mjs", paths: /^$/ },
  typebox: { file: "typebox.mjs", paths: /^(\/type)?$/ },
  "typebox/value": { file: "typebox-value.mjs", paths: /^\/(value|compile|compiler)$/ },
};

/**
 * The stand-in of a module.
 * @param {string} name The package, without its scope.
 * @param {string} path What is imported of it: `` or `/value`.
 * @returns {{ url: string, standin: string } | undefined}
 */
export function standinFor(name, path) {
  for (const standin of [name, `${name}/value`]) {
    const known = STANDINS[standin];
    if (known?.paths.test(path)) return { url: new URL(known.file, import.meta.url).href, standin };
  }
  return undefined;
}

/** @type {Record<string, string[]> | undefined} */
let names;

/**
 * The names that a package of pi exports, in any of its versions.
 * @param {string} standin As `standinFor` gives it.
 * @returns {string[]}
 */
export function namesOf(standin) {
  names ??= JSON.parse(fs.readFileSync(new URL("names.json", import.meta.url), "utf8"));
  return names?.[standin] ?? [];
}
