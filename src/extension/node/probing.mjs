/** The file that a path without its extension, or with that of what it is compiled to, stands for. */
import * as fs from "node:fs";
import * as path from "node:path";

const EXTENSIONS = [".ts", ".mts", ".cts", ".tsx", ".js", ".mjs", ".cjs", ".json"];
/** What TypeScript writes in imports, and what it means. */
const COMPILED = { ".js": [".ts", ".tsx"], ".mjs": [".mts"], ".cjs": [".cts"], ".jsx": [".tsx"] };

/**
 * @param {string} file A path, absolute, as an import has it.
 * @returns {string | undefined} The file, its links followed; `undefined` if there is none.
 */
export function resolveFile(file) {
  const found = asFile(file) ?? asFolder(file);
  return found && fs.realpathSync(found);
}

function asFile(file) {
  if (isFile(file)) return file;
  const extension = path.extname(file);
  const stem = file.slice(0, file.length - extension.length);
  for (const meant of COMPILED[extension] ?? []) if (isFile(stem + meant)) return stem + meant;
  for (const added of EXTENSIONS) if (isFile(file + added)) return file + added;
  return undefined;
}

function asFolder(folder) {
  let main;
  try {
    main = JSON.parse(fs.readFileSync(path.join(folder, "package.json"), "utf8")).main;
  } catch {
    main = undefined;
  }
  const named = typeof main === "string" ? path.join(folder, main) : undefined;
  return (named && (asFile(named) ?? asFile(path.join(named, "index")))) || asFile(path.join(folder, "index"));
}

function isFile(file) {
  return fs.statSync(file, { throwIfNoEntry: false })?.isFile() ?? false;
}
