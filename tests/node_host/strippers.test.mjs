/**
 * What removes types where Node does not: this program, or a package that is found. Node is kept from doing it itself; the packages are
 * those in the folder that `PI_RPC_STRIPPERS` names, or stand-ins.
 */
import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as module from "node:module";
import * as path from "node:path";
import { test } from "node:test";
import { folderWith, loadedElsewhere } from "./loading.mjs";

const { PI_RPC_STRIPPERS } = process.env;
const PACKAGES = ["jiti", "amaro", "esbuild", "typescript"];

/** Takes from Node what it can do since 22.13. */
const OLD_NODE = `delete module.stripTypeScriptTypes;`;
/** Takes from Node what it can do no more since 26. */
const NEW_NODE = `
  const { stripTypeScriptTypes: strip } = module;
  module.stripTypeScriptTypes = (code, options) => {
    if (options.mode !== "strip") throw Object.assign(new TypeError("options.mode"), { code: "ERR_INVALID_ARG_VALUE" });
    return strip(code, options);
  };`;

/** A Node that was built without TypeScript, as those of some distributions. */
const BARE_NODE = `
  module.stripTypeScriptTypes = () => {
    throw Object.assign(new Error("Node.js is not compiled with TypeScript support"), { code: "ERR_NO_TYPESCRIPT" });
  };`;

/** Loads a file of a folder in a process where nothing but the folder's own packages can be found. */
function loaded(folder, { file = "index.ts", first = OLD_NODE, variables = {}, ...options } = {}) {
  const without = { NODE_PATH: undefined, PI_RPC_TYPE_STRIPPER: undefined, HOME: "/nowhere" };
  return loadedElsewhere(path.join(folder, file), { first, variables: { ...without, ...variables }, ...options });
}

/** A folder whose extension finds one package. */
function folderBeside(context, name, files) {
  const folder = folderWith(context, { ...files, "node_modules/.keep": "" });
  fs.symlinkSync(path.join(PI_RPC_STRIPPERS, name), path.join(folder, "node_modules", name));
  return folder;
}

/** Files of a package that makes of every source a program that gives its name. */
function standIn(folder, name, result) {
  const main = `exports.transformSync = () => ({ code: "export default () => ${JSON.stringify(result).replaceAll('"', "'")}" });`;
  return { [`${folder}/node_modules/${name}/package.json`]: `{"name":"${name}","main":"main.js"}`, [`${folder}/node_modules/${name}/main.js`]: main };
}

const EXTENSION = {
  "index.ts": `import type { Gone } from "./gone";
import { AlsoGone } from "./also-gone";
import { E, type Named, N } from "./values";
class C { constructor(private y: number) {} get z(): number { return this.y; } }
export default async (): Promise<unknown> => {
  const given: Gone | AlsoGone | Named = { name: "n" } as any;
  const { here } = await import("./later");
  return [E.A, E[4], N.x, new C(3).z, given!.name, here, require("./common.cts")];
};`,
  "values.ts": `export enum E { A = 4 }\nexport interface Named { name: string }\nexport namespace N { export const x: number = 2; }`,
  "later.ts": `export const here: string = import.meta.url.split("/").pop()!;`,
  "common.cts": `import path = require("node:path");\nconst name = (): string => path.basename(__filename);\nexport = name();`,
};

for (const name of PACKAGES) {
  const skip = !PI_RPC_STRIPPERS && "PI_RPC_STRIPPERS names no folder";

  test(`${name} removes types, and writes enums, namespaces and parameter properties`, { skip }, (context) => {
    const expected = [4, "A", 2, 3, "n", "later.ts", "common.cts"];
    assert.deepEqual(loaded(folderBeside(context, name, EXTENSION)), { value: expected, stderr: "" });
  });

  test(`a syntax error by ${name} names the file and the line`, { skip }, (context) => {
    const folder = folderBeside(context, name, { "index.ts": "enum E { A }\nexport default (): E => E.A;\n\nconst = 2;\n" });
    const { error } = loaded(folder);
    assert.match(error, /index\.ts:4: [A-Z]/);
  });

  test(`${name} writes the enums that Node 26 refuses`, { skip: skip || !("stripTypeScriptTypes" in module) }, (context) => {
    const folder = folderBeside(context, name, { "index.ts": "enum E { A = 4 }\nexport default (): E => E.A;" });
    assert.deepEqual(loaded(folder, { first: NEW_NODE }), { value: 4, stderr: "" });
  });
}

test("packages are looked for beside the extension, in the agent's directory, by NODE_PATH and below pi", (context) => {
  const pi = "agent/npm/node_modules/@earendil-works/pi-coding-agent";
  const files = {
    "here/index.ts": "",
    ...standIn("here", "esbuild", "esbuild beside it"),
    ...standIn("here", "amaro", "amaro beside it"),
    ...standIn("agent/npm", "amaro", "amaro of the agent"),
    ...standIn("global", "amaro", "amaro by NODE_PATH"),
    ...standIn(pi, "amaro", "amaro of pi"),
    [`${pi}/package.json`]: "{}",
  };
  const folder = folderWith(context, files);
  const found = () =>
    loaded(path.join(folder, "here"), {
      agentDirectory: path.join(folder, "agent"),
      variables: { NODE_PATH: path.join(folder, "global/node_modules") },
    }).value;
  const gone = (name) => fs.rmSync(path.join(folder, name), { recursive: true });
  const values = [found()];
  for (const place of ["here", "global", "agent/npm", pi, "here"]) {
    gone(`${place}/node_modules/${values.length === 5 ? "esbuild" : "amaro"}`);
    values.push(found());
  }
  assert.deepEqual(values, [
    "amaro beside it",
    "amaro by NODE_PATH",
    "amaro of the agent",
    "amaro of pi",
    "esbuild beside it",
    undefined,
  ]);
});

test("a package that does not work gives way to the next", (context) => {
  const folder = folderWith(context, {
    "index.ts": "",
    "node_modules/jiti/package.json": `{"main":"main.js"}`,
    "node_modules/jiti/main.js": "module.exports = () => {};",
    "node_modules/amaro/package.json": `{"main":"main.js"}`,
    "node_modules/amaro/main.js": `throw new Error("not for this machine");`,
    ...standIn(".", "esbuild", "esbuild"),
  });
  assert.deepEqual(loaded(folder), { value: "esbuild", stderr: "" });
  fs.rmSync(path.join(folder, "node_modules/esbuild"), { recursive: true });
  const [, ...reasons] = loaded(folder).error.split("\n");
  assert.deepEqual(reasons, [
    `${folder}/node_modules/jiti/main.js: this version of jiti cannot.`,
    `${folder}/node_modules/amaro/main.js: not for this machine`,
  ]);
});

test("nothing of the working directory is used", (context) => {
  const folder = folderWith(context, { "here/index.ts": "", ...standIn("project", "amaro", "amaro of the project") });
  const { value, error } = loaded(path.join(folder, "here"), { cwd: path.join(folder, "project") });
  assert.deepEqual([value, error?.includes("cannot read TypeScript")], [undefined, true]);
});

test("this program goes before packages where it can", (context) => {
  const folder = folderWith(context, { "index.ts": "text", ...standIn(".", "jiti", "jiti"), program: PROGRAM });
  fs.chmodSync(path.join(folder, "program"), 0o755);
  const variables = { PI_RPC_TYPE_STRIPPER: path.join(folder, "program"), PATH: "/usr/bin:/bin" };
  assert.deepEqual(loaded(folder, { variables }).value, `strip-types -- ${folder}/index.ts: text`);
  fs.writeFileSync(path.join(folder, "index.ts"), "wrong");
  assert.equal(loaded(folder, { variables }).error, `${folder}/index.ts:3: Expected a number`);
  fs.writeFileSync(path.join(folder, "index.ts"), "fails");
  assert.equal(loaded(folder, { variables }).error, `${folder}/index.ts: ${folder}/program strip-types: cannot`);
});

const PROGRAM = `#!/bin/sh
source=$(cat)
case $source in
  text) echo "{\\"code\\":\\"export default () => '$*: $source'\\",\\"mapped\\":false}" ;;
  wrong) echo '{"error":{"message":"Expected a number","line":3}}' ;;
  *) echo cannot >&2; exit 3 ;;
esac
`;

const ADVICE = (node, agent) =>
  `Install ${node}, or one of the packages jiti, amaro, esbuild and typescript (before 7) beside the extension, in ${agent} or globally, or a pi-rpc built with the feature strip-types.`;

test("without any, the error says what to install", (context) => {
  const folder = folderWith(context, { "index.ts": "export default (): number => 1;", "index.js": "export default () => 1;" });
  const what = `${folder}/index.ts: Node ${process.versions.node} cannot read TypeScript.`;
  assert.deepEqual(loaded(folder), { error: `${what} ${ADVICE("Node 22.13 or newer", "/nowhere")}`, stderr: "" });
  assert.deepEqual(loaded(folder, { file: "index.js" }), { value: 1, stderr: "" });
});

test("a Node that was built without TypeScript does what an old one does", { skip: !("stripTypeScriptTypes" in module) }, (context) => {
  const folder = folderWith(context, { "index.ts": "" });
  const { error } = loaded(folder, { first: BARE_NODE });
  assert.match(error, /index\.ts: Node \S+ was built without TypeScript\. Install Node 22\.13 or newer, or one/);
  const beside = folderWith(context, { "index.ts": "", ...standIn(".", "amaro", "amaro") });
  assert.deepEqual(loaded(beside, { first: BARE_NODE }), { value: "amaro", stderr: "" });
});

test("without any, a Node that only removes types names what it refuses", { skip: !("stripTypeScriptTypes" in module) }, (context) => {
  const folder = folderWith(context, {
    "index.ts": "export default (): number => 1;\nenum E { A }",
    "plain.ts": "export default (): number => 1;",
  });
  const { error } = loaded(folder, { first: NEW_NODE });
  const what = `TypeScript enum is not supported in strip-only mode, and Node ${process.versions.node} has no other.`;
  assert.equal(error, `${folder}/index.ts:2: ${what} ${ADVICE("Node 22.13 to 25", "/nowhere")}`);
  assert.deepEqual(loaded(folder, { first: NEW_NODE, file: "plain.ts" }), { value: 1, stderr: "" });
});
