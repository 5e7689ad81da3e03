/**
 * Loads extensions of pi as pi loads them: TypeScript or JavaScript, ESM or CommonJS, wherever they are, with pi's packages at hand.
 * `prepare` once, then `load` for each extension.
 */
import * as fs from "node:fs";
import * as module from "node:module";
import { fileURLToPath } from "node:url";
import { resolveFile } from "./probing.mjs";

/** @type {((file: string, fresh: boolean) => Promise<unknown>) | undefined} */
let importExtension;

/**
 * Sets up what this runtime needs to import extensions.
 * @param {object} options
 * @param {string} options.cwd The working directory, absolute.
 * @param {string} options.agentDirectory The agent's own directory, absolute: pi may be installed below it.
 * @param {string} [options.cache] A private folder, in which TypeScript without its types is kept from one start to the next;
 *   absent: `PI_RPC_CACHE`, and without that nothing is kept.
 * @throws {Error} Where the runtime is too old.
 */
export async function prepare({ cwd, agentDirectory, cache = process.env.PI_RPC_CACHE }) {
  silenceExperiments();
  const options = { cwd, agentDirectory, cache };
  if (process.versions.bun) {
    importExtension = (await import("./bun.mjs")).withBun(options);
  } else if (typeof module.registerHooks === "function") {
    importExtension = (await import("./hooks.mjs")).withHooks(options);
  } else {
    importExtension = (await import("./modules.mjs")).withModules(options);
  }
}

/**
 * Loads one extension.
 * @param {string} path Its file, absolute; or its folder, for which the index in it stands.
 * @param {object} [options]
 * @param {boolean} [options.fresh] Load it and all that it imports by path anew.
 * @returns {Promise<unknown>} What it exports by default; `undefined` if nothing.
 * @throws {Error} What went wrong; of a file that cannot be read as a program, with its path and line.
 */
export async function load(path, { fresh = false } = {}) {
  if (!importExtension) throw new Error("load was called before prepare");
  let loaded;
  try {
    loaded = /** @type {any} */ (await importExtension(resolveFile(path) ?? fs.realpathSync(path), fresh));
  } catch (error) {
    throw located(error);
  }
  const found = loaded?.default;
  return found?.__esModule && "default" in found ? found.default : found;
}

/** Node tells the place of a syntax error only in the first line of its stack. */
function located(error) {
  if (!(error instanceof SyntaxError)) return error;
  const place = /^(file:\S+?|\/[^\n]+?):(\d+)\n/.exec(error.stack ?? "");
  if (!place) return error;
  const file = place[1].startsWith("file:") ? fileURLToPath(place[1].replace(/\?.*/, "")) : place[1];
  const made = new SyntaxError(`${file}:${place[2]}: ${error.message}`);
  made.stack = `SyntaxError: ${made.message}`;
  return made;
}

/** Users of extensions cannot do anything about what Node says of its own functions. */
function silenceExperiments() {
  const emit = process.emitWarning;
  process.emitWarning = (warning, ...rest) => {
    const type = typeof rest[0] === "string" ? rest[0] : rest[0]?.type;
    if (type !== "ExperimentalWarning" && warning?.name !== "ExperimentalWarning") return Reflect.apply(emit, process, [warning, ...rest]);
    return undefined;
  };
}
