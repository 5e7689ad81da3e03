/**
 * Where an import leads that Node cannot resolve: without an extension behind a name of `imports` or `exports`, with `.js` for a
 * `.ts` file, to what a package has for `require` only, or for `import` only. Source: jiti, which is pi's loader.
 */
import * as fs from "node:fs";
import * as module from "node:module";
import * as path from "node:path";
import { pathToFileURL } from "node:url";
import { attempt, fileOf, pathOf } from "./files.mjs";
import { resolveFile, spellings } from "./probing.mjs";

let isSearching = false;

/** Whether Node is asked from here: the hooks stand aside. */
export const isAsking = () => isSearching;

/**
 * @param {string} specifier What is imported or required.
 * @param {string} from The file that does it.
 * @returns {string | undefined} The file, its links followed.
 */
export function findLeniently(specifier, from) {
  const named = pathOf(specifier, pathToFileURL(from).href);
  if (named) return resolveFile(named);
  isSearching = true;
  try {
    for (const spelling of [specifier, ...spellings(specifier)]) {
      const found = attempt(() => module.createRequire(from).resolve(spelling)) ?? attempt(() => importedAs(spelling, from));
      if (found && path.isAbsolute(found)) return fs.realpathSync(found);
    }
  } finally {
    isSearching = false;
  }
  return undefined;
}

/** The existing file that `import` finds. */
function importedAs(specifier, from) {
  const file = fileOf(import.meta.resolve(specifier, pathToFileURL(from).href));
  return fs.statSync(file, { throwIfNoEntry: false })?.isFile() ? file : undefined;
}
