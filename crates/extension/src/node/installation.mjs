/**
 * Where pi's own packages and typebox are on this machine: beside the extension, in the agent's directory, where the `pi` in PATH
 * lives, or among the global packages of this Node. Nothing is run to find out, and nothing is looked for before it is wanted.
 */
import * as fs from "node:fs";
import * as path from "node:path";

/** The names that pi has been published under, the newest last. */
const SCOPES = ["@mariozechner", "@earendil-works"];
const OWN = /^@(?:mariozechner|earendil-works)\/(pi-(?:coding-agent|ai|agent-core|tui))(\/.*)?$/;
const TYPEBOX = /^(?:@sinclair\/)?typebox(\/.*)?$/;

/**
 * @typedef {object} Wanted
 * @property {string} name The package without its scope: `pi-ai`, `typebox`.
 * @property {string} path What stands behind it: `` or `/value`.
 * @property {string[]} names The names that it may be installed under, the one asked for first.
 * @typedef {{ name: string, folder: string }} Package An installed package, and where.
 */

/**
 * Whether a specifier is one that pi gives to extensions.
 * @param {string} specifier
 * @returns {Wanted | undefined}
 */
export function wantedOf(specifier) {
  const own = OWN.exec(specifier);
  if (own) {
    const ownScope = specifier.slice(0, specifier.indexOf("/"));
    return {
      name: own[1],
      path: own[2] ?? "",
      names: [ownScope, ...SCOPES.filter((scope) => scope !== ownScope)].map((scope) => `${scope}/${own[1]}`),
    };
  }
  const typebox = TYPEBOX.exec(specifier);
  if (!typebox) return undefined;
  const names = ["typebox", "@sinclair/typebox"];
  return { name: "typebox", path: typebox[1] ?? "", names: specifier.startsWith("@") ? names.reverse() : names };
}

/**
 * The packages beside an extension, or in the agent's directory, that may be the one that is wanted; best first.
 * @param {Wanted} wanted
 * @param {string} file The file that imports it.
 * @param {string} agentDirectory The agent's own directory.
 * @returns {Generator<Package>}
 */
export function* besideExtension(wanted, file, agentDirectory) {
  yield* packagesIn(wanted.names, modulesAbove(file));
  yield* packagesIn(wanted.names, [path.join(agentDirectory, "npm", "node_modules"), path.join(agentDirectory, "node_modules")]);
}

/**
 * The packages of an installation of pi that may be the one that is wanted; best first.
 * @param {Wanted} wanted
 * @param {Package} host The installation.
 * @returns {Generator<Package>}
 */
export function* besideHost(wanted, host) {
  if (wanted.name === "pi-coding-agent") yield host;
  else yield* packagesIn(wanted.names, modulesAbove(path.join(host.folder, "package.json")));
}

/** @type {Map<string, Package[]>} */
const foundHosts = new Map();

/**
 * The installations of pi itself: in the agent's directory, behind the `pi` in PATH, among Node's global packages.
 * @param {string} agentDirectory
 * @returns {Package[]}
 */
export function hosts(agentDirectory) {
  const known = foundHosts.get(agentDirectory);
  if (known) return known;
  const behindPath = hostInPath();
  const found = [
    ...hostsIn(path.join(agentDirectory, "npm", "node_modules")),
    ...(behindPath ? [behindPath] : []),
    ...hostsIn(path.join(path.dirname(path.dirname(process.execPath)), "lib", "node_modules")),
  ];
  foundHosts.set(agentDirectory, found);
  return found;
}

function hostsIn(modules) {
  return [...SCOPES]
    .reverse()
    .map((scope) => ({ name: `${scope}/pi-coding-agent`, folder: path.join(modules, scope, "pi-coding-agent") }))
    .filter(({ folder }) => isPackage(folder));
}

function hostInPath() {
  for (const folder of (process.env.PATH ?? "").split(path.delimiter)) {
    if (!folder) continue;
    let program;
    try {
      program = fs.realpathSync(path.join(folder, "pi"));
    } catch {
      continue;
    }
    for (let above = path.dirname(program); above !== path.dirname(above); above = path.dirname(above)) {
      const name = SCOPES.map((scope) => `${scope}/pi-coding-agent`).find((one) => nameOf(above) === one);
      if (name) return { name, folder: above };
    }
  }
  return undefined;
}

function* packagesIn(names, folders) {
  for (const modules of folders) {
    for (const name of names) {
      const folder = path.join(modules, ...name.split("/"));
      if (isPackage(folder)) yield { name, folder };
    }
  }
}

function* modulesAbove(file) {
  for (let folder = path.dirname(file); ; folder = path.dirname(folder)) {
    if (path.basename(folder) !== "node_modules") yield path.join(folder, "node_modules");
    if (folder === path.dirname(folder)) return;
  }
}

function isPackage(folder) {
  return fs.existsSync(path.join(folder, "package.json"));
}

function nameOf(folder) {
  try {
    return JSON.parse(fs.readFileSync(path.join(folder, "package.json"), "utf8")).name;
  } catch {
    return undefined;
  }
}
