/**
 * Loading where Node has no hooks of its own (18.19 to 22.14): extensions are modules of `node:vm`, linked here; packages are imported
 * by Node itself. Node has to be started with `--experimental-vm-modules` and `--experimental-import-meta-resolve`.
 *
 * A file that an extension imports by path belongs to that extension's copy of it: pi gives each extension modules of its own.
 */
import * as fs from "node:fs";
import * as module from "node:module";
import * as path from "node:path";
import { pathToFileURL } from "node:url";
import * as vm from "node:vm";
import { bridgeSource, bridgeTo } from "./bridges.mjs";
import * as commonjs from "./commonjs.mjs";
import { withPlace } from "./diagnosis.mjs";
import { absent, attempt, fileOf, formatOf, jsonModule, setCacheFolder, lackingIn, namesOfCommonJs, nativeRequire, pathOf, read, forgetReadFiles } from "./files.mjs";
import { wantedOf } from "./installation.mjs";
import { findLeniently } from "./lenient.mjs";
import { packageFor } from "./packages.mjs";
import { isOfSamePackage, resolveFile } from "./probing.mjs";
import { stripTypes } from "./strippers.mjs";
import { syntaxOf } from "./syntax.mjs";
import { useStripper, useSyntax } from "./typescript.mjs";

const OLDEST = [18, 19];
const [MAJOR, MINOR] = process.versions.node.split(".").map(Number);

/** @type {string} */
let agentDirectory;
/** @type {Map<string, Copy>} The copy that an extension's entry is loaded as. */
const entries = new Map();
/** @type {WeakMap<object, { copy: Copy, file?: string, self?: object }>} Whose modules are; `self` is what a facade stands for. */
const origins = new WeakMap();
/** One module graph is linked after another: a module that is being linked elsewhere cannot be waited for. */
let linking = Promise.resolve();

/**
 * @param {{ agentDirectory: string, cache?: string }} options As `prepare` of the loader.
 * @returns {(file: string, fresh: boolean) => Promise<unknown>} Imports an extension.
 * @throws {Error} Where Node is too old, or lacks its options.
 */
export function withModules(options) {
  if (MAJOR < OLDEST[0] || (MAJOR === OLDEST[0] && MINOR < OLDEST[1])) {
    throw new Error(`Node ${process.versions.node} cannot load extensions of pi: Node ${OLDEST.join(".")} or newer is needed.`);
  }
  if (typeof vm.SourceTextModule !== "function") {
    throw new Error(`Node ${process.versions.node} loads extensions of pi only when started with --experimental-vm-modules.`);
  }
  agentDirectory = options.agentDirectory;
  setCacheFolder(options.cache);
  useSyntax(syntaxOf);
  useStripper((source, file, lack) => stripTypes(source, file, lack, agentDirectory));
  commonjs.install((specifier, file) => dynamic(specifier, { copy: commonjs.copyOf(file) ?? shared, file }));
  return importEntry;
}

async function importEntry(file, fresh) {
  if (fresh || !entries.has(file)) {
    forgetReadFiles();
    if (fresh) commonjs.forgetLoaded();
    entries.set(file, new Copy(true));
  }
  const copy = entries.get(file);
  try {
    if (formatOf(file) !== "commonjs") {
      await copy.prepareModule(file);
      return await copy.namespaceOf(copy.moduleOf(file));
    }
    await copy.prepareCommonJs(file);
    return { default: nativeRequire(file) };
  } catch (error) {
    // What could not be linked is of no use any more.
    entries.delete(file);
    throw error;
  }
}

/** The modules of one extension, or those of packages that only this loader can read. */
class Copy {
  /** @type {Map<string, any>} Modules by address. */
  #modules = new Map();

  /** @param {boolean} isExtension */
  constructor(isExtension) {
    this.isExtension = isExtension;
  }

  /** The module of a file that is one. */
  moduleOf(file) {
    const { href } = pathToFileURL(file);
    return this.#moduleAt(href, () => {
      const code = withoutAttributes(read(file).code);
      try {
        return this.#createModule(code, href, { file });
      } catch (error) {
        throw error instanceof SyntaxError ? withPlace(error, file, code) : error;
      }
    });
  }

  /** A module that exports what a JSON file holds. */
  jsonOf(file) {
    const { href } = pathToFileURL(file);
    return this.#moduleAt(href, () => this.#createModule(jsonModule(file), href, { file }));
  }

  /** A module with further names, which are `undefined`. */
  facadeOf(file, lacking) {
    const { href } = pathToFileURL(file);
    return this.#moduleAt(`${href}#${lacking.join()}`, () => {
      const byDefault = read(file).exported.includes("default") ? `export { default } from "self";` : "";
      return this.#createModule(`export * from "self";${byDefault}${lacking.map(absent).join("")}`, href, { self: this.moduleOf(file) });
    });
  }

  /** The module at the address of a bridge. */
  bridgeOf(url) {
    return url.startsWith("pi-rpc:") ? this.#moduleAt(url, () => this.#createModule(bridgeSource(url, namesOfCommonJs), url, {})) : native(url);
  }

  /** Imports what a module and the modules that it imports by path require. */
  async prepareModule(file, seen = new Set()) {
    if (seen.has(file)) return;
    seen.add(file);
    const { code, wanted } = read(file);
    for (const specifier of Object.keys(wanted)) {
      const target = fileFrom(specifier, file);
      if (target && formatOf(target) === "module") await this.prepareModule(target, seen);
    }
    const required = commonjs.required(code);
    if (required.size > 0 && commonjs.adopt(file, this)) await this.#provideRequired(file, required);
  }

  /** Imports whatever a CommonJS file requires that Node cannot require, and makes the file one of this copy. */
  async prepareCommonJs(file) {
    if (commonjs.adopt(file, this)) await this.#provideRequired(file, commonjs.required(read(file).code));
  }

  async #provideRequired(file, specifiers) {
    for (const specifier of specifiers) {
      const wanted = wantedOf(specifier);
      if (wanted) {
        await this.provideOwn(wanted, specifier, file);
        continue;
      }
      const target = requiredFrom(specifier, file);
      const format = target && attempt(() => formatOf(target));
      const isOwn = target && (fileFrom(specifier, file) === target || isOfSamePackage(target, file));
      if (format === "commonjs" && isOwn) await this.prepareCommonJs(target);
      if (format !== "module") continue;
      const isTypeScript = /\.[mc]?tsx?$/.test(target);
      const copy = isOwn ? this : shared;
      const imported = isOwn || isTypeScript ? copy.namespaceOf(copy.moduleOf(target)) : import(pathToFileURL(target).href);
      await commonjs.provide(file, specifier, imported);
    }
  }

  /** Lets a CommonJS file require a package of pi. */
  async provideOwn(wanted, specifier, file) {
    const url = bridgeTo(packageFor(wanted, file, agentDirectory, resolvePackage), []);
    await commonjs.provide(file, specifier, url.startsWith("pi-rpc:") ? this.namespaceOf(this.bridgeOf(url)) : import(url));
  }

  /** Links and runs a module. */
  async namespaceOf(made) {
    const linked = linking.then(() => (made.status === "unlinked" ? made.link(link) : undefined));
    linking = linked.catch(() => {});
    try {
      await linked;
    } catch (error) {
      const located = this.#withImportPlace(error);
      this.#forgetUnlinked();
      throw located;
    }
    await made.evaluate();
    return made.namespace;
  }

  #moduleAt(url, make) {
    const known = this.#modules.get(url) ?? make();
    this.#modules.set(url, known);
    return known;
  }

  #createModule(source, identifier, origin) {
    const made = new vm.SourceTextModule(source, {
      identifier,
      initializeImportMeta: (meta) => describe(meta, identifier),
      importModuleDynamically: (specifier) => dynamic(specifier, { copy: this, ...origin }),
    });
    origins.set(made, { copy: this, ...origin });
    return made;
  }

  /** The error with the file and the line of the import that fails: linking does not tell them. */
  #withImportPlace(error) {
    const [, specifier, name] = /^The requested module '(.*)' does not provide an export named '(.*)'$/.exec(error?.message) ?? [];
    if (!(error instanceof SyntaxError) || !name) return error;
    for (const made of this.#modules.values()) {
      const { file } = origins.get(made) ?? {};
      const { code = "", wanted } = (file && attempt(() => read(file))) || {};
      if (!wanted?.[specifier]?.includes(name)) continue;
      const line = code.slice(0, Math.max(0, code.indexOf(specifier))).split("\n").length;
      const located = new SyntaxError(`${file}:${line}: ${error.message}`);
      located.stack = `SyntaxError: ${located.message}`;
      return located;
    }
    return error;
  }

  #forgetUnlinked() {
    for (const [url, { status }] of this.#modules) if (status === "unlinked" || status === "linking") this.#modules.delete(url);
  }
}

/** Modules of packages that Node cannot read, or that need a package of pi which is not installed. */
const shared = new Copy(false);

function link(specifier, referrer) {
  const { copy, file, self } = origins.get(referrer);
  if (self) return self;
  return moduleFor(specifier, { copy, file }, (file && read(file).wanted[specifier]) ?? []);
}

async function dynamic(specifier, from) {
  return from.copy.namespaceOf(await moduleFor(specifier, from, []));
}

/** The module that a specifier leads to; `file` is who imports, absent for a bridge, and `names` what it wants. */
async function moduleFor(specifier, { copy, file }, names) {
  if (!file || module.isBuiltin(specifier)) return native(specifier);
  const wanted = wantedOf(specifier);
  if (wanted) {
    const own = copy.isExtension ? undefined : attempt(() => resolvePackage(specifier, file));
    return own ? native(own.url) : copy.bridgeOf(bridgeTo(packageFor(wanted, file, agentDirectory, resolvePackage), names));
  }
  const target = fileFrom(specifier, file);
  return target ? toFile(target, copy, names) : toPackage(specifier, file, copy, names);
}

async function toFile(file, copy, names) {
  if (file.endsWith(".json")) return copy.jsonOf(file);
  const format = formatOf(file);
  if (format === "commonjs") {
    if (copy.isExtension) await copy.prepareCommonJs(file);
    return copy.bridgeOf(bridgeTo({ commonjs: file, names }, names));
  }
  if (format === undefined) return native(pathToFileURL(file).href);
  const lacking = lackingIn(file, names);
  return lacking.length > 0 ? copy.facadeOf(file, lacking) : copy.moduleOf(file);
}

/** What Node finds, else what pi's loader would. */
async function toPackage(specifier, file, copy, names) {
  const url = addressOfPackage(specifier, file);
  if (!url.startsWith("file:")) return native(url);
  const target = fs.realpathSync(fileOf(url));
  // By a name of `imports`, or of the package itself.
  if (copy.isExtension && isOfSamePackage(target, file)) return toFile(target, copy, names);
  if (/\.([mc]?tsx?|json)$/.test(target)) return toFile(target, shared, names);
  const isCommonJs = target.endsWith(".cjs") || (target.endsWith(".js") && !isOfModules(target) && formatOf(target) === "commonjs");
  if (isCommonJs) {
    for (const name of commonjs.required(fs.readFileSync(target, "utf8"))) {
      const wanted = wantedOf(name);
      if (wanted && !attempt(() => resolvePackage(name, target))) await copy.provideOwn(wanted, name, target);
    }
    return copy.bridgeOf(bridgeTo({ commonjs: target, names }, names));
  }
  if (target.endsWith(".js") && !isOfModules(target)) return toFile(target, shared, names);
  try {
    return await native(url);
  } catch (error) {
    // One of pi's own packages, perhaps, which pi gives to packages, too.
    if (error?.code !== "ERR_MODULE_NOT_FOUND") throw error;
    return toFile(target, shared, names);
  }
}

/** The address of a package's module: as an import finds it, else as pi's loader does. */
function addressOfPackage(specifier, file) {
  let missing;
  try {
    const { url } = resolvePackage(specifier, file);
    if (!url.startsWith("file:") || fs.statSync(fileOf(url), { throwIfNoEntry: false })?.isFile()) return url;
    missing = new Error(`Cannot find module '${fileOf(url)}' imported from ${file}`);
  } catch (error) {
    missing = error;
  }
  const found = findLeniently(specifier, file);
  if (!found) throw missing;
  return pathToFileURL(found).href;
}

/** Whether Node reads the `.js` files of that folder as modules. */
function isOfModules(file) {
  for (let folder = path.dirname(file); folder !== path.dirname(folder); folder = path.dirname(folder)) {
    const description = path.join(folder, "package.json");
    if (fs.existsSync(description)) return attempt(() => JSON.parse(fs.readFileSync(description, "utf8")).type) === "module";
  }
  return false;
}

/** @type {Map<string, any>} Modules that Node has loaded, by address. */
const natives = new Map();

/** A module that Node loads, with the values that it exports now. */
async function native(url) {
  const known = natives.get(url);
  if (known) return known;
  const namespace = await import(url);
  const names = Object.keys(namespace);
  const made = new vm.SyntheticModule(
    names,
    function () {
      for (const name of names) this.setExport(name, namespace[name]);
    },
    { identifier: url },
  );
  natives.set(url, made);
  return made;
}

/** Where Node finds a package, for a file. */
function resolvePackage(specifier, file) {
  return { url: import.meta.resolve(specifier, pathToFileURL(file).href) };
}

function fileFrom(specifier, file) {
  const named = pathOf(specifier, pathToFileURL(file).href);
  return named && resolveFile(named);
}

/** The file that `require` of a specifier leads to; `undefined` for what is no file. */
function requiredFrom(specifier, file) {
  if (module.isBuiltin(specifier)) return undefined;
  const found = fileFrom(specifier, file) ?? attempt(() => module.createRequire(file).resolve(specifier)) ?? findLeniently(specifier, file);
  return found && fs.realpathSync(found);
}

function describe(meta, identifier) {
  meta.url = identifier;
  if (!identifier.startsWith("file:")) return;
  meta.filename = fileOf(identifier);
  meta.dirname = path.dirname(meta.filename);
  meta.resolve = (specifier) => {
    const file = fileFrom(specifier, meta.filename);
    return file ? pathToFileURL(file).href : import.meta.resolve(specifier, identifier);
  };
}

/** Node before 18.20 does not know `with` in an import; what it says is not needed here. */
function withoutAttributes(code) {
  if (MAJOR > 18) return code;
  return code.replace(/(\b(?:from|import)\s*(["'])[^"'\n]*\2)\s*with\s*\{[^}]*\}/g, (text, kept) => kept + text.slice(kept.length).replace(/[^\n]/g, " "));
}
