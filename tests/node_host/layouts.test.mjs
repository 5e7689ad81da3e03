/**
 * Where imports lead, in layouts of packages that extensions have: names of `imports` and `exports`, paths without endings,
 * what is written for what it is compiled to. Each row is what jiti does, pi's own loader; `PI_RPC_JITI` names its module to try that.
 */
import assert from "node:assert/strict";
import * as path from "node:path";
import { before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { LOADER, folderWith } from "./loading.mjs";

const { prepare, load } = await import(LOADER);
before(() => prepare({ cwd: process.cwd(), agentDirectory: "/nowhere" }));

/** The description of the extension's own package. */
const own = (more) => ({ "package.json": JSON.stringify({ name: "own", type: "module", ...more }) });
/** The description of a package that is installed for it. */
const dep = (more) => ({ "node_modules/dep/package.json": JSON.stringify({ name: "dep", ...more }) });
const imports = (specifier) => ({ "index.ts": `import { x } from "${specifier}";\nexport default (): string => x;` });
const requires = (specifier) => ({ "index.ts": `const { x } = require("${specifier}");\nexport default () => x;` });
const is = (value) => `export const x: string = "${value}";`;

/** One layout a row: files, and what the factory of `index.ts` gives; `undefined`: it does not load. */
const LAYOUTS = [
  ["a name of imports without an ending", { ...own({ imports: { "#src/*": "./src/*" } }), ...imports("#src/a"), "src/a.ts": is(1) }, "1"],
  ["a name of imports with an ending", { ...own({ imports: { "#src/*": "./src/*" } }), ...imports("#src/a.ts"), "src/a.ts": is(1) }, "1"],
  ["a name of imports with .js for a .ts file", { ...own({ imports: { "#src/*": "./src/*" } }), ...imports("#src/a.js"), "src/a.ts": is(1) }, "1"],
  ["a name of imports for a folder", { ...own({ imports: { "#src/*": "./src/*" } }), ...imports("#src/a"), "src/a/index.ts": is(1) }, "1"],
  ["a pattern of imports with an ending", { ...own({ imports: { "#*": "./src/*.ts" } }), ...imports("#a/b"), "src/a/b.ts": is(1) }, "1"],
  [
    "the longest pattern of imports",
    { ...own({ imports: { "#a/*": "./one/*", "#a/b/*": "./two/*" } }), ...imports("#a/b/c"), "one/b/c.ts": is(1), "two/c.ts": is(2) },
    "2",
  ],
  ["a pattern of imports that excludes", { ...own({ imports: { "#a/*": "./a/*", "#a/b/*": null } }), ...imports("#a/b/c"), "a/b/c.ts": is(1) }, undefined],
  [
    "conditions of imports, one inside another",
    { ...own({ imports: { "#a": { browser: "./b.ts", node: { types: "./a.d.ts", import: "./a.ts" } } } }), ...imports("#a"), "a.ts": is(1), "b.ts": is(2) },
    "1",
  ],
  [
    "conditions of imports for require",
    { ...own({ imports: { "#a": { import: "./a.ts", require: "./b.cjs" } } }), ...requires("#a"), "a.ts": is(1), "b.cjs": `exports.x = "2"` },
    "2",
  ],
  ["a name of imports for a package", { ...own({ imports: { "#d/*": "dep/lib/*" } }), ...imports("#d/a"), ...dep(), "node_modules/dep/lib/a.ts": is(1) }, "1"],
  [
    "a name of imports for JSON",
    { ...own({ imports: { "#a": "./a.json" } }), "index.ts": `import a from "#a";\nexport default () => a.x;`, "a.json": `{"x":1}` },
    1,
  ],
  ["a name of imports in a file below", { ...own({ imports: { "#src/*": "./src/*" } }), ...imports("./src/b/c"), "src/b/c.ts": `export * from "#src/a";`, "src/a.ts": is(1) }, "1"],
  ["a name of imports that another package.json hides", { ...own({ imports: { "#a": "./a.ts" } }), ...imports("./b/c"), "b/package.json": "{}", "b/c.ts": `export { x } from "#a";`, "a.ts": is(1) }, undefined],
  [
    "a name of imports in import()",
    { ...own({ imports: { "#src/*": "./src/*" } }), "index.ts": `const name = "a";\nexport default async () => (await import("#src/" + name)).x;`, "src/a.ts": is(1) },
    "1",
  ],
  ["a name of imports in require", { ...own({ imports: { "#src/*": "./src/*" } }), ...requires("#src/a"), "src/a.ts": is(1) }, "1"],
  ["a name of imports in CommonJS", { ...own({ type: "commonjs", imports: { "#src/*": "./src/*" } }), "index.ts": `const { x } = require("#src/a");\nmodule.exports = () => x;`, "src/a.ts": `exports.x = "1" as string;` }, "1"],
  ["a name of imports without an entry", { ...own({ imports: { "#src/*": "./src/*" } }), ...imports("#other/a") }, undefined],
  ["the package's own name", { ...own({ exports: { "./*": "./src/*" } }), ...imports("own/a"), "src/a.ts": is(1) }, "1"],
  ["the package's own name in require", { ...own({ exports: { "./a": "./src/a.ts" } }), ...requires("own/a"), "src/a.ts": is(1) }, "1"],
  ["the package's own name without exports", { ...own({}), ...imports("own/a"), "a.ts": is(1) }, undefined],
  ["JavaScript before TypeScript", { ...imports("./a"), "a.ts": is("ts"), "a.js": `export const x = "js";` }, "js"],
  ["an index of JavaScript before one of TypeScript", { ...imports("./a"), "a/index.ts": is("ts"), "a/index.js": `export const x = "js";` }, "js"],
  ["a file before a folder", { ...imports("./a"), "a.ts": is("file"), "a/index.ts": is("folder") }, "file"],
  ["a name with dots", { ...imports("./a.config"), "a.config.ts": is(1) }, "1"],
  ["the folder itself and the one above", { ...imports("./a/b/c"), "a/b/c.ts": `export * from "..";`, "a/index.ts": `export * from "./b/";`, "a/b/index.ts": is(1) }, "1"],
  ["a declaration file that only types are taken from", { "index.ts": `import { T } from "./types.js";\nconst x: T = "1";\nexport default () => x;`, "types.d.ts": "export type T = string;" }, "1"],
  ["a declaration file in place of a module", { "index.ts": `import "./types";\nexport default () => 1;`, "types.d.ts": "export type T = string;" }, undefined],
  ["a pattern of exports without an ending", { ...imports("dep/a"), ...dep({ exports: { "./*": "./src/*" } }), "node_modules/dep/src/a.ts": is(1) }, "1"],
  ["a pattern of exports with .js for a .ts file", { ...imports("dep/a.js"), ...dep({ exports: { "./*": "./src/*" } }), "node_modules/dep/src/a.ts": is(1) }, "1"],
  [
    "conditions of exports, one inside another",
    { ...imports("dep"), ...dep({ exports: { ".": { browser: "./b.js", node: { import: { types: "./t.d.ts", default: "./i.mjs" } } } } }), "node_modules/dep/i.mjs": `export const x = "1";` },
    "1",
  ],
  ["exports for import alone, by require", { ...requires("dep"), ...dep({ exports: { import: "./i.mjs" } }), "node_modules/dep/i.mjs": `export const x = "1";` }, "1"],
  ["a file that exports do not have", { ...imports("dep/b.js"), ...dep({ exports: { ".": "./a.js" } }), "node_modules/dep/b.js": `exports.x = "1";` }, undefined],
  ["a file in a package without an ending", { ...imports("dep/lib/a"), ...dep(), "node_modules/dep/lib/a.ts": is(1) }, "1"],
  ["a folder in a package", { ...imports("dep/lib"), ...dep(), "node_modules/dep/lib/index.ts": is(1) }, "1"],
  ["a package whose index is TypeScript", { ...imports("dep"), ...dep(), "node_modules/dep/index.ts": is(1) }, "1"],
  ["a package with names of imports", { ...imports("dep"), ...dep({ main: "a.ts", imports: { "#b/*": "./b/*" } }), "node_modules/dep/a.ts": `export * from "#b/c";`, "node_modules/dep/b/c.ts": is(1) }, "1"],
  ["a package's package.json", { "index.ts": `import { name } from "dep/package.json";\nexport default () => name;`, ...dep() }, "dep"],
  ["JSON by require", { "index.ts": `const a = require("./a");\nexport default () => a.x;`, "a.json": `{"x":1}` }, 1],
  ["a module of TypeScript by require", { ...requires("./a"), "a.ts": is(1) }, "1"],
  ["a package of a folder above", { "a/b/index.ts": imports("dep")["index.ts"], ...dep({ main: "m.js" }), "node_modules/dep/m.js": `exports.x = "1";` }, "1", "a/b/index.ts"],
  ["paths of a tsconfig.json", { ...own({}), "tsconfig.json": `{"compilerOptions":{"paths":{"@/*":["./src/*"]}}}`, ...imports("@/a"), "src/a.ts": is(1) }, undefined],
  ["the main file of the extension's package", { ...own({ main: "./src/a.ts" }), "src/a.ts": `export default (): string => "1";` }, "1", "."],
];

for (const [what, files, expected, entry = "index.ts"] of LAYOUTS) {
  test(what, (context) => finds((file) => load(file), path.join(folderWith(context, files), entry), expected));
}

const { PI_RPC_JITI } = process.env;
for (const [what, files, expected, entry = "index.ts"] of PI_RPC_JITI ? LAYOUTS : []) {
  test(`pi's loader: ${what}`, async (context) => {
    const { createJiti } = await import(pathToFileURL(PI_RPC_JITI).href);
    const jiti = createJiti(import.meta.url, { moduleCache: false, fsCache: false, tryNative: false });
    await finds((file) => jiti.import(file, { default: true }), path.join(folderWith(context, files), entry), expected);
  });
}

test("a fresh copy reads what names of imports lead to anew", async (context) => {
  const files = { ...own({ imports: { "#src/*": "./src/*" } }), "index.ts": `import { next } from "#src/a";\nexport default next;`, "src/a.ts": `let n = 0;\nexport const next = (): number => (n += 1);` };
  const file = path.join(folderWith(context, files), "index.ts");
  const [first, fresh] = [await load(file), await load(file, { fresh: true })];
  assert.deepEqual([first(), first(), fresh()], [1, 2, 1]);
});

async function finds(loaded, file, expected) {
  const found = async () => (await loaded(file))();
  if (expected === undefined) await assert.rejects(found);
  else assert.deepEqual(await found(), expected);
}
