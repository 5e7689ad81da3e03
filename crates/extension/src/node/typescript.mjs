/**
 * Makes of a TypeScript or JavaScript file what Node can run: types are taken away, imports that only types had use for vanish,
 * and a module finds `require`, `__dirname`, `__filename` and `module.exports` if it uses them. Lines keep their numbers.
 *
 * What a file has become is kept in a folder, with what it was: to take types away costs Node some 40 ms the first time in a process.
 */
import * as fs from "node:fs";
import * as module from "node:module";
import * as path from "node:path";

/** Only what was not kept is read: a start without that is some milliseconds shorter. */
const lazily = module.createRequire(import.meta.url);

/** @type {typeof import("./syntax.mjs").syntaxOf} Old versions of Node cannot require a module: there it is given. */
let syntaxOf = (source) => lazily("./syntax.mjs").syntaxOf(source);

/** @param {typeof import("./syntax.mjs").syntaxOf} given The function of `syntax.mjs`. */
export function useSyntax(given) {
  syntaxOf = given;
}

/** @type {(source: string, file: string, lack: Lack) => Stripped} Removes types where Node does not. */
let stripElsewhere;

/** @param {typeof stripElsewhere} given That, with the directory of the agent. */
export function useStripper(given) {
  stripElsewhere = given;
}

/**
 * @typedef {{ text: string, mapped: boolean }} Stripped JavaScript; `mapped` as in `Prepared`.
 * @typedef {{ what: string, node: string }} Lack What this Node cannot do, with the file; and which Node can.
 */

/**
 * @typedef {object} Prepared
 * @property {string} code What Node is to run.
 * @property {"module" | "commonjs"} format By what is in the file; its package has no say.
 * @property {Record<string, string[]>} wanted Names that are imported, by specifier; `*` for a namespace.
 * @property {string[]} exported Names that are exported.
 * @property {boolean} exportsAll There are more, which are not known.
 * @property {boolean} mapped The lines have moved; a source map tells where from.
 */

/** Extensions of files that are prepared here. */
export const PREPARED = [".ts", ".mts", ".cts", ".tsx", ".js", ".mjs", ".cjs"];

/**
 * @param {string} file Its path, absolute.
 * @param {string} [cache] A folder for what was prepared before; absent: nothing is kept.
 * @returns {Prepared}
 * @throws {SyntaxError} that names the file and the line.
 */
export function prepareFile(file, cache) {
  const source = fs.readFileSync(file, "utf8");
  const made = cache ? fromCache(source, file, cache) : prepare(source, file);
  if (made.mapped) process.setSourceMapsEnabled(true);
  return made;
}

function fromCache(source, file, cache) {
  const kept = path.join(cache, `${hashOf(file)}${path.extname(file)}.json`);
  try {
    const { of, ...made } = JSON.parse(fs.readFileSync(kept, "utf8"));
    if (of === source) return made;
  } catch {
    // Not there yet, or of another file: it is made again.
  }
  const made = prepare(source, file);
  writeCache(kept, { of: source, ...made });
  return made;
}

/** A short name for a path. Two may have the same: what is kept under it has the source to tell. */
function hashOf(file) {
  let number = 0n;
  for (const byte of Buffer.from(file)) number = BigInt.asUintN(64, (number ^ BigInt(byte)) * 1099511628211n + 7n);
  return number.toString(36);
}

function prepare(source, file) {
  const isTypeScript = /\.[mc]?tsx?$/.test(file);
  const { text, mapped } = isTypeScript ? withoutTypes(source, file) : { text: source, mapped: false };
  const syntax = syntaxOf(text);
  const { code, kept } = isTypeScript ? withoutUnusedImports(text, syntax) : { code: text, kept: syntax.imports };
  const format = syntax.isModule || file.endsWith(".mjs") || file.endsWith(".mts") ? "module" : "commonjs";
  /** @type {Record<string, string[]>} */
  const wanted = {};
  for (const { specifier, bindings } of kept) (wanted[specifier] ??= []).push(...bindings.map((binding) => binding.imported));
  for (const { specifier, names } of syntax.reexports) (wanted[specifier] ??= []).push(...names);
  const exported = [...syntax.exported];
  return {
    code: format === "module" ? withNames(code, syntax, exported) : code,
    format,
    wanted,
    exported,
    exportsAll: syntax.exportsAll,
    mapped,
  };
}

/** Types become blanks where that is possible; enums, namespaces and parameter properties are written anew. */
function withoutTypes(source, file) {
  const made = strippedByNode(source, file);
  return "text" in made ? made : stripElsewhere(source, file, made);
}

/**
 * Node has a function since 22.13 and 23.2, unless it is built without TypeScript; since 26 it only removes.
 * @returns {Stripped | Lack}
 */
function strippedByNode(source, file) {
  const { node } = process.versions;
  const without = (why) => ({ what: `${file}: Node ${node} ${why}`, node: "Node 22.13 or newer" });
  if (typeof module.stripTypeScriptTypes !== "function") return without("cannot read TypeScript");
  let refused;
  try {
    return { text: module.stripTypeScriptTypes(source, { mode: "strip" }), mapped: false };
  } catch (error) {
    if (error?.code === "ERR_NO_TYPESCRIPT") return without("was built without TypeScript");
    refused = located(error, source, file);
    if (!isStripOnly(error)) throw refused;
  }
  try {
    return { text: module.stripTypeScriptTypes(source, { mode: "transform", sourceMap: true, sourceUrl: file }), mapped: true };
  } catch (error) {
    if (error?.code !== "ERR_INVALID_ARG_VALUE") throw located(error, source, file);
    return { what: `${refused.message}, and Node ${node} has no other`, node: "Node 22.13 to 25" };
  }
}

/**
 * Whether the parser of Node and amaro refuses what is more than types, such as an enum. Not every version of theirs has a code for it.
 * @param {any} error Theirs.
 */
export function isStripOnly(error) {
  return /\bin strip-only mode\b/.test(String(error?.message ?? error));
}

function located(error, source, file) {
  const { message, line } = placeOf(error, source);
  return syntaxError(message, line, file);
}

/**
 * What the parser of Node and amaro says: its message says what, its snippet where.
 * @param {any} error Theirs: a text in old versions.
 * @param {string} source What was parsed.
 * @returns {{ message: string, line?: number }}
 */
export function placeOf(error, source) {
  const text = String(error?.message ?? error);
  const [what] = text.replace(/^\s*[x×]\s/, "").split("\n");
  return { message: what.trim(), line: error?.startLine ?? lineOf(`${error?.stack ?? ""}\n${text}`, source) };
}

/** @returns {SyntaxError} that names the file and, if it is known, the line. */
export function syntaxError(what, line, file) {
  const made = new SyntaxError(`${file}${line ? `:${line}` : ""}: ${what}`);
  made.stack = `SyntaxError: ${made.message}`;
  return made;
}

function lineOf(text, source) {
  const number = /^\S*:(\d+)\s*$/m.exec(text) ?? /^\s*(\d+) \|.*\n\s*:\s*\^/m.exec(text);
  if (number) return Number(number[1]);
  const snippet = /^\s*(\S.*)\n\s*\^+/m.exec(text);
  const index = snippet ? source.indexOf(snippet[1]) : -1;
  return index < 0 ? undefined : source.slice(0, index).split("\n").length;
}

/** TypeScript's own rule: a binding that no value uses is a type's, and an import without bindings left is none. */
function withoutUnusedImports(text, syntax) {
  let code = "";
  let at = 0;
  const kept = [];
  for (const one of syntax.imports) {
    const bindings = one.bindings.filter((binding) => syntax.used.has(binding.local));
    const stays = one.bare || bindings.length > 0;
    if (stays) kept.push({ ...one, bindings });
    if (stays && bindings.length === one.bindings.length) continue;
    const lines = text.slice(one.start, one.end).replace(/[^\n]/g, "");
    code += text.slice(at, one.start) + (stays ? clauseOf({ ...one, bindings }) : ";") + lines;
    at = one.end;
  }
  return { code: code + text.slice(at), kept };
}

function clauseOf({ bindings, text, attributes }) {
  const named = bindings.filter(({ imported }) => imported !== "*" && imported !== "default");
  const parts = [
    ...bindings.filter(({ imported }) => imported === "default").map(({ local }) => local),
    ...bindings.filter(({ imported }) => imported === "*").map(({ local }) => `* as ${local}`),
    ...(named.length > 0 ? [`{ ${named.map(({ imported, local }) => `${JSON.stringify(imported)} as ${local}`).join(", ")} }`] : []),
  ];
  return `import ${parts.join(", ")} from ${text} ${attributes};`;
}

/** What a CommonJS module is given, a module that uses it gets, too; on its first line, so that no line moves. */
function withNames(code, syntax, exported) {
  const lacks = (name) => syntax.used.has(name) && !syntax.declared.has(name);
  const given = [];
  if (lacks("require"))
    given.push(`import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);`);
  if (lacks("__filename")) given.push("const __filename = import.meta.filename;");
  if (lacks("__dirname")) given.push("const __dirname = import.meta.dirname;");
  const exportsByHand = /\bmodule\s*\.\s*exports\b/.test(code) && lacks("module") && exported.length === 0 && !syntax.exportsAll;
  if (exportsByHand) given.push("const module = { exports: {} };");
  const hashbang = code.startsWith("#!") ? "//" : "";
  const end = exportsByHand ? "\nexport default module.exports;" : "";
  if (exportsByHand) exported.push("default");
  return given.length > 0 || hashbang ? `${given.join(" ")}${hashbang}${code}${end}` : code;
}

/** Kept under another name first: two processes may do it at once. */
function writeCache(file, made) {
  try {
    fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    const unfinished = `${file}.${process.pid}`;
    fs.writeFileSync(unfinished, JSON.stringify(made), { mode: 0o600 });
    fs.renameSync(unfinished, file);
  } catch {
    // A folder that cannot be written to costs time, nothing else.
  }
}
