/** CommonJS files of extensions, where Node has no hooks: `require` finds TypeScript, and modules that were imported for it before. */
import * as module from "node:module";
import * as vm from "node:vm";
import { attempt, nativeRequire, pathOf, read } from "./files.mjs";
import { findLeniently } from "./lenient.mjs";
import { isOfSamePackage } from "./probing.mjs";
import { pathToFileURL } from "node:url";

const { Module } = module.default;

/** @type {Map<string, any>} The copy that each file belongs to. */
const owners = new Map();
/** @type {Map<string, Map<string, () => unknown>>} What gives files the value for a specifier, or throws. */
const provided = new Map();

/** Node is asked by the search for a file. */
let isSearching = false;

/** The copy of an extension that a file belongs to. */
export const copyOf = (file) => owners.get(file);

/**
 * Lets a file belong to a copy.
 * @returns {boolean} Whether that is new.
 */
export function adopt(file, copy) {
  const isNew = owners.get(file) !== copy;
  owners.set(file, copy);
  return isNew;
}

/** Lets `require` of a specifier in that file give what was imported for it, or throw why that has failed. */
export async function provide(file, specifier, imported) {
  if (!provided.has(file)) provided.set(file, new Map());
  try {
    const value = await imported;
    provided.get(file).set(specifier, () => value);
  } catch (error) {
    provided.get(file).set(specifier, () => {
      throw error;
    });
  }
}

/** Files are loaded anew when they are required next. */
export function forgetLoaded() {
  for (const file of owners.keys()) delete nativeRequire.cache[file];
  provided.clear();
}

/** The specifiers that a program requires by name. */
export function required(code) {
  return new Set([...code.matchAll(/\brequire\s*\(\s*(["'])([^"'\n]+)\1\s*\)/g)].map(([, , specifier]) => specifier));
}

/**
 * Teaches `require` about extensions.
 * @param {(specifier: string, file: string) => Promise<unknown>} dynamic Imports for a file.
 */
export function install(dynamic) {
  const { _load: load, _resolveFilename: resolveFilename } = Module;
  Module._load = function (request, parent, ...rest) {
    const values = provided.get(parent?.filename);
    const value = values?.get(request);
    return value ? value() : Reflect.apply(load, this, [request, parent, ...rest]);
  };
  Module._resolveFilename = function (request, parent, ...rest) {
    const resolve = () => Reflect.apply(resolveFilename, this, [request, parent, ...rest]);
    const from = parent?.filename;
    if (isSearching || !owners.has(from) || module.isBuiltin(request)) return resolve();
    isSearching = true;
    try {
      const isPath = pathOf(request, pathToFileURL(from).href) !== undefined;
      const target = (isPath ? undefined : attempt(resolve)) ?? findLeniently(request, from) ?? resolve();
      if (isPath || isOfSamePackage(target, from)) adopt(target, owners.get(from));
      return target;
    } finally {
      isSearching = false;
    }
  };
  for (const extension of [".ts", ".mts", ".cts", ".tsx", ".js", ".cjs"]) {
    const native = Module._extensions[extension] ?? Module._extensions[".js"];
    Module._extensions[extension] = (loading, file) => {
      if (owners.has(file) || /\.[mc]?tsx?$/.test(file)) compile(loading, file, dynamic);
      else native(loading, file);
    };
  }
}

function compile(loading, file, dynamic) {
  const { code, format } = read(file);
  if (format === "module") {
    throw new Error(`${file} is an ES module, and Node ${process.versions.node} cannot require it: import it, or use Node 22.15 or newer.`);
  }
  const program = vm.compileFunction(code.replace(/^#!/, "//"), ["exports", "require", "module", "__filename", "__dirname"], {
    filename: file,
    importModuleDynamically: (specifier) => dynamic(specifier, file),
  });
  Reflect.apply(program, loading.exports, [loading.exports, module.createRequire(file), loading, file, loading.path]);
}
