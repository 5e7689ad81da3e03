/**
 * Loading with Node's own hooks (22.15 and newer): where a specifier leads, and what a file is read as.
 *
 * A file that an extension imports by path belongs to that extension's copy of it: pi gives each extension modules of its own.
 */
import * as module from "node:module";
import * as path from "node:path";
import { pathToFileURL } from "node:url";
import {
  absent,
  attempt,
  fileOf,
  formatOf,
  jsonModule,
  setCacheFolder,
  lackingIn,
  namesOfCommonJs,
  nativeRequire,
  pathOf,
  read,
  forgetReadFiles,
} from "./files.mjs";
import { wantedOf } from "./installation.mjs";
import { findLeniently, isAsking } from "./lenient.mjs";
import { isOfSamePackage, resolveFile } from "./probing.mjs";
import { PREPARED, useStripper } from "./typescript.mjs";

const HERE = new URL("./", import.meta.url).href;
const COPY = "pi-rpc-copy";

/** Read when the first import needs them: most extensions need types only. */
const bridgeTo = (...args) => nativeRequire("./bridges.mjs").bridgeTo(...args);
const bridgeSource = (...args) => nativeRequire("./bridges.mjs").bridgeSource(...args);
const packageFor = (...args) => nativeRequire("./packages.mjs").packageFor(...args);

/** @type {{ cwd: string, agentDirectory: string, cache?: string }} */
let settings;
/** The last copy that was begun. */
let copies = 0;
/** The file that was read last: if it is no program, Node says what is wrong, but not where. */
let lastLoaded = "";
/** @type {Map<string, number>} The copy that an extension's entry is loaded as. */
const entries = new Map();
/** @type {Map<string, number>} The copy that has a file without a mark in its address: the first. */
const firstOwner = new Map();
/** @type {Map<string, Record<string, string[]>>} What the modules want of those that they import. */
const wantedBy = new Map();
/** @type {Map<string, Set<string>>} What is wanted of a module that is not loaded yet. */
const wantedOfUrl = new Map();

/**
 * Registers the hooks.
 * @param {{ cwd: string, agentDirectory: string, cache?: string }} options As `prepare` of the loader.
 * @returns {(file: string, fresh: boolean) => Promise<unknown>} Imports an extension.
 */
export function withHooks(options) {
  settings = options;
  setCacheFolder(options.cache);
  useStripper((...given) => nativeRequire("./strippers.mjs").stripTypes(...given, options.agentDirectory));
  module.registerHooks({ resolve, load });
  return (file, fresh) => {
    let copy = entries.get(file);
    if (copy === undefined || fresh) {
      copy = copies += 1;
      entries.set(file, copy);
      forgetReadFiles();
      if (fresh) forgetCommonJs();
    }
    return importEntry(file, copy);
  };
}

async function importEntry(file, copy) {
  try {
    const address = addressIn(copy, file);
    // What `import` makes of CommonJS has a `require` that knows no hooks.
    return formatOf(file) === "commonjs" ? { default: nativeRequire(file) } : await import(address);
  } catch (error) {
    const unplaced = error instanceof SyntaxError && /^SyntaxError.*\n\s+at compileSourceTextModule/.test(error.stack);
    throw unplaced ? nativeRequire("./diagnosis.mjs").withPlace(error, lastLoaded, read(lastLoaded).code) : error;
  }
}

function resolve(specifier, context, nextResolve) {
  const { parentURL = "" } = context;
  if (parentURL.startsWith("pi-rpc:")) return nextResolve(specifier, { ...context, parentURL: HERE });
  if (!parentURL.startsWith("file:") || parentURL.startsWith(HERE) || module.isBuiltin(specifier) || isAsking())
    return nextResolve(specifier, context);
  const copy = copyOf(parentURL);
  const byImport = !context.conditions.includes("require");
  const wanted = wantedOf(specifier);
  if (wanted) {
    const own = copy === undefined ? attempt(() => nextResolve(specifier, context)) : undefined;
    if (own) return own;
    const found = packageFor(wanted, fileOf(parentURL), settings.agentDirectory, (name, from) =>
      nextResolve(name, { ...context, parentURL: pathToFileURL(from).href }),
    );
    return { url: bridgeTo(found, namesWanted(parentURL, specifier)), shortCircuit: true, format: "module" };
  }
  const names = wantedBy.get(parentURL)?.[specifier] ?? [];
  const file = copy === undefined ? undefined : pathOf(specifier, parentURL);
  if (file) {
    const target = resolveFile(file);
    if (target) return toOwnFile(target, copy, names, byImport);
  }
  return resolveElsewhere(specifier, context, nextResolve, { copy, names, byImport });
}

/** What a module wants of a package of pi; a module that Node reads itself has to be read for that. */
function namesWanted(parentURL, specifier) {
  if (!wantedBy.has(parentURL) && PREPARED.includes(path.extname(fileOf(parentURL)))) {
    wantedBy.set(parentURL, read(fileOf(parentURL)).wanted);
  }
  return wantedBy.get(parentURL)?.[specifier] ?? [];
}

/** A file of the extension itself. A CommonJS one that a module imports is read through a bridge, for its names. */
function toOwnFile(file, copy, names, byImport) {
  if (!byImport) {
    firstOwner.set(pathToFileURL(file).href, copy);
    return { url: pathToFileURL(file).href, shortCircuit: true, format: formatOf(file) };
  }
  const url = addressIn(copy, file);
  const format = formatOf(file);
  if (format === "commonjs") return { url: bridgeTo({ commonjs: file, names }, names), shortCircuit: true, format: "module" };
  // A module that is loaded already gets no more names: the bridge has those that it lacks.
  if (wantedBy.has(url) && lackingIn(file, names).length > 0)
    return { url: bridgeTo({ url }, names), shortCircuit: true, format: "module" };
  const known = wantedOfUrl.get(url) ?? new Set();
  for (const name of names) known.add(name);
  wantedOfUrl.set(url, known);
  return { url, shortCircuit: true, format };
}

/** What Node finds, else what pi's loader would; a CommonJS package through a bridge where an extension imports it. */
function resolveElsewhere(specifier, context, nextResolve, { copy, names, byImport }) {
  const from = fileOf(context.parentURL);
  let found;
  try {
    found = nextResolve(specifier, context);
  } catch (error) {
    const target = findLeniently(specifier, from);
    if (!target) throw error;
    found = { url: pathToFileURL(target).href, shortCircuit: true };
  }
  if (copy === undefined || !found.url.startsWith("file:")) return found;
  const file = fileOf(found.url);
  // By a name of `imports`, or of the package itself.
  if (isOfSamePackage(file, from)) return toOwnFile(file, copy, names, byImport);
  if (!byImport) return found;
  const isCommonJs =
    file.endsWith(".cjs") || found.format === "commonjs" || (!found.format && file.endsWith(".js") && formatOf(file) === "commonjs");
  return isCommonJs
    ? { url: bridgeTo({ commonjs: file, names }, names), shortCircuit: true, format: "module" }
    : { ...found, shortCircuit: true };
}

function load(url, context, nextLoad) {
  if (url.startsWith("pi-rpc:")) return { format: "module", source: bridgeSource(url, namesOfCommonJs), shortCircuit: true };
  if (!url.startsWith("file:") || url.startsWith(HERE)) return nextLoad(url, context);
  const file = fileOf(url);
  const isOwn = copyOf(url) !== undefined;
  if (file.endsWith(".json") && !context.importAttributes?.type && !context.conditions.includes("require")) {
    return { format: "module", source: jsonModule(file), shortCircuit: true };
  }
  if (!PREPARED.includes(path.extname(file)) || !(isOwn || /\.[mc]?tsx?$/.test(file))) return nextLoad(url, context);
  lastLoaded = file;
  const { code, format, wanted } = read(file);
  wantedBy.set(url, wanted);
  const lacking = lackingIn(file, [...(wantedOfUrl.get(url) ?? [])]);
  return { format, source: code + lacking.map(absent).join(""), shortCircuit: true };
}

/** The address of a file in a copy: the first copy that has it needs no mark. */
function addressIn(copy, file) {
  const { href } = pathToFileURL(file);
  if (!firstOwner.has(href)) firstOwner.set(href, copy);
  return firstOwner.get(href) === copy ? href : `${href}?${COPY}=${copy}`;
}

/** The copy that a module belongs to; `undefined` for what is not an extension's own. */
function copyOf(url) {
  const mark = url.lastIndexOf(`?${COPY}=`);
  return mark < 0 ? firstOwner.get(url) : Number(url.slice(mark + COPY.length + 2));
}

/** CommonJS modules are known by their path alone: a fresh copy has to take their place. */
function forgetCommonJs() {
  for (const url of firstOwner.keys()) delete nativeRequire.cache[fileOf(url)];
}
