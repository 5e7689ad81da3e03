/** The file that a path without its extension, or with that of what it is compiled to, stands for; the order is that of pi's loader. */
import * as fs from "node:fs";
import * as path from "node:path";

const EXTENSIONS = [".js", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".json"];
/** What TypeScript writes in imports, and what it means. */
const COMPILED = { ".js": [".ts", ".tsx"], ".mjs": [".mts"], ".cjs": [".cts"], ".jsx": [".tsx"] };

/**
 * What a specifier may stand for that Node does not resolve as it is written: `dep/lib` for `dep/lib.ts` or `dep/lib/index.ts`,
 * `#src/a.js` for `#src/a.ts`.
 * @param {string} specifier
 * @returns {string[]} In the order of precedence.
 */
export function spellings(specifier) {
  const extension = path.extname(specifier);
  const stem = specifier.slice(0, specifier.length - extension.length);
  return [
    ...EXTENSIONS.flatMap((added) => [specifier + added, `${specifier}/index${added}`]),
    ...(COMPILED[extension] ?? []).map((meant) => stem + meant),
  ];
}

/**
 * Whether a file belongs to the package of another one, rather than to one that is installed for it.
 * @param {string} file
 * @param {string} other
 */
export function isOfSamePackage(file, other) {
  let folder = path.dirname(other);
  while (folder !== path.dirname(folder) && !isFile(path.join(folder, "package.json"))) folder = path.dirname(folder);
  const inside = path.relative(folder, file);
  return folder !== path.dirname(folder) && !inside.split(path.sep).some((part) => part === ".." || part === "node_modules");
}

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
