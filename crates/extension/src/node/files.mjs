/** Files of extensions, as both loaders need them: read once for a copy of an extension, with what they import and export. */
import * as fs from "node:fs";
import * as module from "node:module";
import * as path from "node:path";
import { fileURLToPath } from "node:url";
import { PREPARED, prepareFile } from "./typescript.mjs";

/** CommonJS as Node loads it. */
export const nativeRequire = module.createRequire(import.meta.url);

/** @type {Map<string, import("./typescript.mjs").Prepared>} What was read since the last copy was begun. */
const readFiles = new Map();
/** @type {string | undefined} */
let cache;

/** @param {string} [folder] Where prepared files are kept; absent: nowhere. */
export function setCacheFolder(folder) {
  cache = folder;
}

/** Files are read again from now on: a new copy of an extension begins. */
export function forgetReadFiles() {
  readFiles.clear();
}

/**
 * @param {string} file Its path, absolute; one of those that are prepared.
 * @returns {import("./typescript.mjs").Prepared}
 */
export function read(file) {
  const known = readFiles.get(file) ?? prepareFile(file, cache);
  readFiles.set(file, known);
  return known;
}

/** The module system of a file, by what is in it; `undefined` for a file that is not prepared. */
export function formatOf(file) {
  return PREPARED.includes(path.extname(file)) ? read(file).format : undefined;
}

/** The names among those that are wanted that a module does not export. */
export function lackingIn(file, names) {
  const { format, exported, exportsAll } = read(file);
  return exportsAll || format !== "module" ? [] : names.filter((name) => name !== "*" && !exported.includes(name));
}

/** A name that is asked for and not there is `undefined`, as for pi: often it is that of a type. */
export function absent(name, index) {
  return `\nlet __absent${index}; export { __absent${index} as ${JSON.stringify(name)} };`;
}

/** A module that exports what a JSON file holds. */
export function jsonModule(file) {
  const text = fs.readFileSync(file, "utf8").replace(/^\uFEFF/, "");
  let value;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new SyntaxError(`${file}: ${error.message}`);
  }
  const names = value && typeof value === "object" && !Array.isArray(value) ? Object.keys(value).filter((name) => name !== "default") : [];
  return (
    `const value = ${JSON.stringify(value)};export default value;` +
    names.map((name, index) => `const v${index} = value[${JSON.stringify(name)}];export { v${index} as ${JSON.stringify(name)} };`).join("")
  );
}

/** The names that a CommonJS file exports; it is run to find out. */
export function namesOfCommonJs(file) {
  const value = nativeRequire(file);
  return value && (typeof value === "object" || typeof value === "function") ? Object.keys(value) : [];
}

/** The path that a specifier names; `undefined` for a package. */
export function pathOf(specifier, parentURL) {
  if (specifier.startsWith("file:")) return fileOf(specifier);
  if (path.isAbsolute(specifier)) return specifier;
  if (!/^\.\.?(\/|$)/.test(specifier) || !parentURL.startsWith("file:")) return undefined;
  return path.resolve(path.dirname(fileOf(parentURL)), specifier);
}

/** The path of an address, without what is added to it. */
export function fileOf(url) {
  const plain = new URL(url);
  plain.search = "";
  plain.hash = "";
  return fileURLToPath(plain);
}

/** What a function gives, or `undefined` where it throws. */
export function attempt(what) {
  try {
    return what();
  } catch {
    return undefined;
  }
}
