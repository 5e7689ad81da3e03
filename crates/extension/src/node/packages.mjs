/** What an extension gets for one of pi's packages: the installed one, else the stand-in. */
import * as fs from "node:fs";
import * as path from "node:path";
import { pathToFileURL } from "node:url";
import { besideExtension, besideHost, hosts } from "./installation.mjs";
import { standinFor } from "./standins/index.mjs";

/**
 * @typedef {object} Found
 * @property {string} url The module.
 * @property {string} [member] The module is a bundle, whose `VIRTUAL_MODULES` has what is wanted under this name.
 * @property {string} [standin] The stand-in's name: using a name that pi has and the stand-in lacks throws an error.
 * @typedef {(specifier: string, from: string) => { url: string }} Find How the runtime resolves a package, for a file.
 */

/**
 * @param {import("./installation.mjs").Wanted} wanted
 * @param {string} file The file that imports it.
 * @param {string} agentDirectory The agent's own directory.
 * @param {Find} find
 * @returns {Found}
 * @throws {Error} if pi has no such module.
 */
export function packageFor(wanted, file, agentDirectory, find) {
  for (const one of besideExtension(wanted, file, agentDirectory)) {
    const url = wanted.name === "pi-coding-agent" ? undefined : moduleIn(one.folder, one.name + wanted.path, find);
    const found = wanted.name === "pi-coding-agent" ? inHost(one, wanted, find) : url && { url };
    if (found) return found;
  }
  for (const host of hosts(agentDirectory)) {
    const found = inHost(host, wanted, find);
    if (found) return found;
  }
  const standin = standinFor(wanted.name, wanted.path);
  if (!standin)
    throw new Error(`pi is not installed where extensions look for it, and there is no stand-in for ${wanted.names[0]}${wanted.path}.`);
  return standin;
}

/** An installation whose own packages are missing may still have all of them in its bundle. */
function inHost(host, wanted, find) {
  const complete = moduleIn(host.folder, `${host.name.split("/")[0]}/pi-ai`, find) !== undefined;
  const view =
    wanted.name === "pi-ai" && ["", "/compat"].includes(wanted.path)
      ? path.join(host.folder, "dist/core/extensions/pi-ai-extension-view.js")
      : "";
  if (complete && view && fs.existsSync(view)) return { url: pathToFileURL(view).href };
  for (const { name, folder } of complete ? besideHost(wanted, host) : []) {
    const url = moduleIn(folder, name + wanted.path, find);
    if (url) return { url };
  }
  return complete ? undefined : inBundle(host, wanted);
}

function inBundle(host, wanted) {
  const chunks = path.join(host.folder, "dist", "bundle", "chunks");
  try {
    const chunk = fs.readdirSync(chunks).find((file) => /^virtual-modules-\w+\.js$/.test(file));
    return chunk && { url: pathToFileURL(path.join(chunks, chunk)).href, member: wanted.names[0] + wanted.path, standin: wanted.name };
  } catch {
    return undefined;
  }
}

function moduleIn(folder, specifier, find) {
  try {
    const { url } = find(specifier, path.join(folder, "package.json"));
    return fs.existsSync(new URL(url)) ? url : undefined;
  } catch {
    // It does not have that module: another installation may.
    return undefined;
  }
}
