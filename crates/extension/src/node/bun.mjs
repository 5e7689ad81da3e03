/** Loading with Bun. */
import * as fs from "node:fs";
import * as path from "node:path";
import { pathToFileURL } from "node:url";
import { wantedOf } from "./installation.mjs";
import { packageFor } from "./packages.mjs";
import { namesOf, standinFor } from "./standins/index.mjs";
import { missing } from "./standins/missing.mjs";

/** Every module that pi gives to extensions; longer names first, as some are the beginning of others. */
const GIVEN_MODULES = [
  ...["/providers/all", "/compat", "/models", "/oauth", ""].map((subpath) => ["pi-ai", subpath]),
  ...["pi-coding-agent", "pi-agent-core", "pi-tui"].map((name) => [name, ""]),
  ...["/value", "/compile", ""].map((subpath) => ["typebox", subpath]),
];

/**
 * Bun reads TypeScript itself; only the places of pi's packages have to be registered.
 * @param {{ cwd: string, agentDirectory: string }} options As `prepare` of the loader.
 * @returns {(file: string, fresh: boolean) => Promise<unknown>} Imports an extension. What it imports by path stays as it was.
 */
export function withBun({ agentDirectory }) {
  let copies = 0;
  let isRegistered = false;
  return async (file, fresh) => {
    if (!isRegistered) {
      isRegistered = true;
      const modules = givenModules(file, agentDirectory);
      globalThis.Bun.plugin({
        name: "pi-rpc",
        setup(build) {
          for (const module of modules)
            build.module(module.specifier, async () => ({ exports: await exportsOf(module), loader: "object" }));
        },
      });
    }
    if (fresh) copies += 1;
    return import(copies > 0 ? `${file}?copy=${copies}` : file);
  };
}

/** All names that pi has: Bun asks for those that an installed one lacks, and would not load the extension without. */
async function exportsOf({ found, standin }) {
  const real = await import(found.url);
  const lacking = namesOf(standin?.standin ?? "").map((name) => [
    name,
    found.standin && !found.member ? missing(found.standin, name) : undefined,
  ]);
  return { ...Object.fromEntries(lacking), ...(found.member ? real.VIRTUAL_MODULES[found.member] : real) };
}

/** Where each module that pi gives is for an extension, under all its names. */
function givenModules(file, agentDirectory) {
  const made = [];
  for (const [name, subpath] of GIVEN_MODULES) {
    const standin = standinFor(name, subpath);
    for (const specifier of name === "typebox"
      ? [`typebox${subpath}`, `@sinclair/typebox${subpath}`]
      : [`@earendil-works/${name}${subpath}`, `@mariozechner/${name}${subpath}`]) {
      const wanted = wantedOf(specifier);
      if (wanted) made.push({ specifier, standin, found: packageFor(wanted, file, agentDirectory, findModule) });
    }
  }
  return made;
}

/** A package's module for `import`, from its description: older runtimes resolve for `require` only. */
function findModule(specifier, from) {
  const [, name, subpath] = /^((?:@[^/]+\/)?[^/]+)(.*)$/.exec(specifier) ?? [];
  for (let folder = path.dirname(from); ; folder = path.dirname(folder)) {
    const home = path.join(folder, "node_modules", name);
    const file = path.join(home, "package.json");
    if (fs.existsSync(file))
      return { url: pathToFileURL(path.join(home, entryOf(JSON.parse(fs.readFileSync(file, "utf8")), subpath))).href };
    if (folder === path.dirname(folder)) throw new Error(`No such package: ${name}`);
  }
}

function entryOf(description, subpath) {
  const { exports } = description;
  const chosen =
    exports && typeof exports === "object" && Object.keys(exports)[0]?.startsWith(".")
      ? exports[`.${subpath}`]
      : subpath
        ? undefined
        : exports;
  const entry = chosen === undefined && !subpath && !exports ? (description.module ?? description.main ?? "index.js") : resolveCondition(chosen);
  if (typeof entry !== "string") throw new Error(`${description.name} has no ${subpath || "main module"}`);
  return entry;
}

function resolveCondition(entry) {
  if (!entry || typeof entry !== "object") return entry;
  for (const condition of ["node", "import", "default"]) if (entry[condition]) return resolveCondition(entry[condition]);
  return undefined;
}
