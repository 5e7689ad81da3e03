/** What the loader takes: TypeScript and JavaScript as pi's own loader takes them. Fixtures are written here; nothing is installed. */
import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { before, test } from "node:test";
import { LOADER, folderWith, loadedElsewhere } from "./loading.mjs";

const { prepare, load } = await import(LOADER);
before(() => prepare({ cwd: process.cwd(), agentDirectory: "/nowhere" }));

/** Loads `index.ts` (or what is named) out of files, and calls it. */
async function called(context, files, entry = "index.ts") {
  const factory = await load(path.join(folderWith(context, files), entry));
  return factory();
}

/** One behaviour a row: files, and what the factory of `entry` gives. */
const BEHAVIOURS = [
  [
    "types are taken away",
    { "index.ts": `interface A { n: number }\nconst a: A = { n: 1 } satisfies A;\nexport default () => a as unknown;` },
    { n: 1 },
  ],
  [
    "enums, namespaces and parameter properties run",
    {
      "index.ts": `enum E { A = 4 }\nnamespace N { export const x = 2; }\nclass C { constructor(private y: number) {} get z() { return this.y; } }\nexport default () => [E.A, E[4], N.x, new C(3).z];`,
    },
    [4, "A", 2, 3],
  ],
  [
    "imports that only types use load nothing",
    {
      "index.ts": `import { Shape } from "./gone";\nimport other, { type Third } from "no-such-package";\nimport type { Fourth } from "also-missing";\nexport default () => { const s: Shape | other | Third | Fourth = 1 as any; return s; };`,
    },
    1,
  ],
  [
    "of an import only the bindings that are used stay",
    {
      "index.ts": `import { value, OnlyType } from "./values";\nexport default (): OnlyType => value;`,
      "values.ts": `export type OnlyType = number;\nexport const value = 7;`,
    },
    7,
  ],
  [
    "imports for their effect stay",
    { "index.ts": `import "./effect";\nexport default () => globalThis.loaderEffect;`, "effect.ts": `globalThis.loaderEffect = "done";` },
    "done",
  ],
  [
    "paths need no extension, and folders have an index",
    {
      "index.ts": `import { a } from "./a";\nimport { b } from "./b";\nimport { c } from "./c.js";\nimport { d } from "./d.mjs";\nexport default () => [a, b, c, d];`,
      "a.ts": `export const a = 1;`,
      "b/index.ts": `export const b = 2;`,
      "c.ts": `export const c = 3;`,
      "d.mts": `export const d = 4;`,
    },
    [1, 2, 3, 4],
  ],
  [
    "a folder's package.json names its main file",
    {
      "index.ts": `import { a } from "./lib";\nexport default () => a;`,
      "lib/package.json": `{"main": "./out/main"}`,
      "lib/out/main.ts": `export const a = "main";`,
    },
    "main",
  ],
  [
    "JSON is imported with and without an attribute",
    {
      "index.ts": `import data, { name } from "./data.json";\nimport again from "./data.json" with { type: "json" };\nexport default () => [data, name, again.list];`,
      "data.json": `{"name": "n", "list": [1], "default": "d"}`,
    },
    [{ name: "n", list: [1], default: "d" }, "n", [1]],
  ],
  [
    "a module may use require, __dirname and __filename",
    {
      "index.ts": `import * as path from "node:path";\nexport default () => [require("./more.cjs").x, path.basename(__filename), __dirname === path.dirname(__filename), typeof require("node:fs").readFileSync];`,
      "more.cjs": `exports.x = 5;`,
    },
    [5, "index.ts", true, "function"],
  ],
  [
    "a module's own __dirname is left alone",
    {
      "index.ts": `import { fileURLToPath } from "node:url";\nconst __dirname = fileURLToPath(new URL("./here", import.meta.url)).split("/").pop();\nexport default () => __dirname;`,
    },
    "here",
  ],
  [
    "TypeScript may be CommonJS",
    {
      "index.ts": `const fs = require("node:fs");\nconst { x } = require("./more");\nmodule.exports = (): unknown => [typeof fs.readFileSync, x];`,
      "more.ts": `export const x: number = 6;`,
    },
    ["function", 6],
  ],
  [
    "exports.default of CommonJS is the default",
    { "index.js": `Object.defineProperty(exports, "__esModule", { value: true });\nexports.default = () => "marked";` },
    "marked",
    "index.js",
  ],
  [
    "the package's type has no say",
    { "package.json": `{"type": "commonjs"}`, "index.js": `import { sep } from "node:path";\nexport default () => sep.length;` },
    1,
    "index.js",
  ],
  [
    "export = and import = are CommonJS's",
    { "index.ts": `import os = require("node:os");\nconst made = () => typeof os.homedir;\nexport = made;` },
    "function",
  ],
  [
    "module.exports beside imports is the default",
    { "index.ts": `import { sep } from "node:path";\nmodule.exports = () => sep.length;` },
    1,
  ],
  [
    "a type that is passed on is a name without a value",
    {
      "index.ts": `import { value, Shape } from "./barrel";\nexport { Shape };\nexport default () => [value, typeof Shape];`,
      "barrel.ts": `export { value, Shape } from "./shapes";`,
      "shapes.ts": `export interface Shape { n: number }\nexport const value = 1;`,
    },
    [1, "undefined"],
  ],
  [
    "a name that a file does not have is undefined",
    { "index.ts": `import { gone } from "./a";\nexport default () => typeof gone;`, "a.ts": `export const a = 1;` },
    "undefined",
  ],
  [
    "a CommonJS package is its default, and all its names are known",
    {
      "index.ts": `import made, { hidden } from "made";\nimport * as all from "made";\nexport default () => [made(), hidden, all.hidden];`,
      "node_modules/made/package.json": `{"name": "made", "main": "index.js"}`,
      "node_modules/made/index.js": `const made = () => "called";\nfor (const [key, value] of [["hidden", 8]]) made[key] = value;\nmodule.exports = made;`,
    },
    ["called", 8, 8],
  ],
  [
    "the default of a transpiled package is its default",
    {
      "index.ts": `import thing from "thing";\nexport default () => thing;`,
      "node_modules/thing/package.json": `{"name": "thing"}`,
      "node_modules/thing/index.js": `exports.__esModule = true;\nexports.default = "inner";`,
    },
    "inner",
  ],
  [
    "packages may be TypeScript",
    {
      "index.ts": `import { a } from "tsonly";\nexport default () => a;`,
      "node_modules/tsonly/package.json": `{"name": "tsonly", "main": "index.ts"}`,
      "node_modules/tsonly/index.ts": `const a: number = 9;\nexport { a };`,
    },
    9,
  ],
  [
    "packages for require only, and files in them without extension",
    {
      "index.ts": `import { a } from "reqonly";\nimport { b } from "loose/lib/b";\nexport default () => [a, b];`,
      "node_modules/reqonly/package.json": `{"name": "reqonly", "exports": {"require": "./r.js"}}`,
      "node_modules/reqonly/r.js": `exports.a = 1;`,
      "node_modules/loose/package.json": `{"name": "loose"}`,
      "node_modules/loose/lib/b.js": `exports.b = 2;`,
    },
    [1, 2],
  ],
  [
    "import() finds files, too",
    { "index.ts": `export default async () => (await import("./late")).late;`, "late.ts": `export const late: string = "late";` },
    "late",
  ],
  [
    "strings, templates, comments and patterns do not count as uses",
    {
      "index.ts":
        'import { Shape } from "./gone";\n// Shape\nconst a = "Shape" + \'Shape\' + `Shape ${1 / 2} Shape` + /Shape[/\'"]/.source + { Shape: 1 }.Shape;\nexport default (s?: Shape) => a.length;',
    },
    36,
  ],
];

for (const [behaviour, files, expected, entry] of BEHAVIOURS) {
  test(behaviour, async (context) => assert.deepEqual(await called(context, files, entry), expected));
}

test("a name that a file does not have is undefined for the second that asks, too", async (context) => {
  const files = {
    "index.ts": `import { a } from "./shapes";\nimport { b } from "./other";\nexport default () => [a, b];`,
    "other.ts": `import { Shape, a } from "./shapes";\nexport { Shape };\nexport const b = [a, typeof Shape];`,
    "shapes.ts": `export interface Shape {}\nexport const a = 1;`,
  };
  assert.deepEqual(await called(context, files), [1, [1, "undefined"]]);
});

test("an extension among installed packages is TypeScript like any other", async (context) => {
  const folder = folderWith(context, {
    "node_modules/ext/index.ts": `import { n } from "./n";\nexport default (): number => n;`,
    "node_modules/ext/n.ts": `export const n: number = 3;`,
  });
  assert.equal((await load(path.join(folder, "node_modules/ext/index.ts")))(), 3);
});

test("no default is undefined", async (context) => {
  assert.equal(await load(path.join(folderWith(context, { "index.ts": "export const a = 1;" }), "index.ts")), undefined);
});

test("two extensions do not share what they import by path", async (context) => {
  const folder = folderWith(context, {
    "a.ts": `import { next } from "./shared";\nexport default next;`,
    "b.ts": `import { next } from "./shared.ts";\nexport default next;`,
    "shared.ts": `let n = 0;\nexport const next = () => (n += 1);`,
  });
  const [a, b] = [await load(path.join(folder, "a.ts")), await load(path.join(folder, "b.ts"))];
  assert.deepEqual([a(), a(), b()], [1, 2, 1]);
});

for (const [kind, entry, helper] of [
  ["modules", `import { n } from "./helper";\nexport default () => n;`, (n) => `export const n = ${n};`],
  ["CommonJS", `const { n } = require("./helper");\nmodule.exports = () => n;`, (n) => `exports.n = ${n};`],
]) {
  test(`fresh loading reads ${kind} and what they import anew`, async (context) => {
    const folder = folderWith(context, { "index.ts": entry, "helper.ts": helper(1) });
    const file = path.join(folder, "index.ts");
    const first = await load(file);
    fs.writeFileSync(path.join(folder, "helper.ts"), helper(2));
    const [same, fresh] = [await load(file), await load(file, { fresh: true })];
    assert.deepEqual([first(), same(), fresh()], [1, 1, 2]);
  });
}

/** Broken files, and how the message begins behind the folder. */
const BROKEN = [
  ["TypeScript", { "index.ts": "export default () => 1;\nconst a: = 2;" }, /^index\.ts:2: /],
  [
    "JavaScript",
    { "index.ts": "export default () => 1;\n\nconst a = 1; const a = 2;" },
    /^index\.ts:3: Identifier 'a' has already been declared/,
  ],
  [
    "an imported file",
    { "index.ts": `import { x } from "./deep/x";\nexport default () => x;`, "deep/x.ts": "export const x = 1;\nfunction (" },
    /^deep\/x\.ts:2: /,
  ],
  ["JSON", { "index.ts": `import x from "./x.json";\nexport default () => x;`, "x.json": "{" }, /^x\.json: /],
];
for (const [what, files, message] of BROKEN) {
  test(`an error in ${what} names the file and the line`, async (context) => {
    const folder = folderWith(context, files);
    await assert.rejects(load(path.join(folder, "index.ts")), (error) => {
      assert.equal(error.name, "SyntaxError");
      assert.match(error.message.replace(`${folder}/`, ""), message);
      return true;
    });
  });
}

test("what is thrown keeps its line", async (context) => {
  const folder = folderWith(context, {
    "index.ts": `import { A,\n  B } from "./gone";\ntype T = {\n  a: A; b: B;\n};\nexport default (): T => {\n  throw new Error("here");\n};`,
  });
  const factory = await load(path.join(folder, "index.ts"));
  assert.throws(factory, (error) => error.stack.includes(`${folder}/index.ts:7:`));
});

test("what is thrown keeps its line where the code was written anew", async (context) => {
  const folder = folderWith(context, {
    "index.ts": `enum E {\n  A,\n  B,\n}\ninterface X {}\nexport default () => {\n  throw new Error(String(E.A));\n};`,
  });
  const factory = await load(path.join(folder, "index.ts"));
  assert.throws(factory, (error) => error.stack.includes(`${folder}/index.ts:7:`));
});

test("nothing is said on stderr", (context) => {
  const folder = folderWith(context, { "index.ts": `enum E { A }\nexport default (): number => E.A;` });
  assert.deepEqual(loadedElsewhere(path.join(folder, "index.ts")), { value: 0, stderr: "" });
});

test("what was prepared is kept, and made again when the file is another", (context) => {
  const folder = folderWith(context, { "index.ts": `export default (): number => 1;` });
  const [file, cache] = [path.join(folder, "index.ts"), path.join(folder, "kept")];
  const values = [loadedElsewhere(file, { cache }).value, loadedElsewhere(file, { cache }).value];
  const kept = fs.readdirSync(cache).map((name) => JSON.parse(fs.readFileSync(path.join(cache, name), "utf8")).of);
  fs.writeFileSync(file, `export default (): number => 2;`);
  values.push(loadedElsewhere(file, { cache }).value);
  assert.deepEqual({ values, kept }, { values: [1, 1, 2], kept: [`export default (): number => 1;`] });
});

test("a folder stands for the index in it", async (context) => {
  assert.equal((await load(folderWith(context, { "index.ts": "export default () => 5 as number;" })))(), 5);
});
