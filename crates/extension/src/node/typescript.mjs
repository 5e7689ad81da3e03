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
  return typeof module.stripTypeScriptTypes === "function" ? strippedByNode(source, file) : strippedByServer(source, file);
}

/** The server's own program does it where Node cannot. */
function strippedByServer(source, file) {
  const program = process.env.PI_RPC_PROGRAM;
  if (!program) throw new Error(`${file}: Node ${process.versions.node} cannot read TypeScript, and PI_RPC_PROGRAM names no pi-rpc that can`);
  const { spawnSync } = lazily("node:child_process");
  const { error, status, stdout, stderr } = spawnSync(program, ["strip-types", "--", file], {
    input: source,
    encoding: "utf8",
    maxBuffer: Infinity,
  });
  if (error || status !== 0) throw new Error(`${file}: ${program} strip-types: ${error?.message ?? (stderr.trim() || `exited with status ${status}`)}`);
  const { code, mapped, error: wrong } = JSON.parse(stdout);
  if (wrong) throw syntaxError(wrong.message, wrong.line ?? undefined, file);
  return { text: code, mapped };
}

function strippedByNode(source, file) {
  try {
    return { text: module.stripTypeScriptTypes(source, { mode: "strip" }), mapped: false };
  } catch (error) {
    if (error?.code !== "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX") throw withPlace(error, source, file);
  }
  try {
    return { text: module.stripTypeScriptTypes(source, { mode: "transform", sourceMap: true, sourceUrl: file }), mapped: true };
  } catch (error) {
    throw withPlace(error, source, file);
  }
}

/** The message of the parser says what, its snippet where. */
function withPlace(error, source, file) {
  const [what] = String(error?.message ?? error).split("\n");
  const line = error?.startLine ?? lineOf(String(error?.stack ?? ""), source);
  return syntaxError(what.trim(), line, file);
}

function syntaxError(what, line, file) {
  const made = new SyntaxError(`${file}${line ? `:${line}` : ""}: ${what}`);
  made.stack = `SyntaxError: ${made.message}`;
  return made;
}

function lineOf(stack, source) {
  const position = /^\S*:(\d+)\s*$/m.exec(stack);
  if (position) return Number(position[1]);
  const snippet = /^\s*(\S.*)\n\s*\^+/m.exec(stack);
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
