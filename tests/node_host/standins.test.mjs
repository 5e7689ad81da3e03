/** What extensions get for pi's packages: an installed pi if there is one, else stand-ins. */
import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { test } from "node:test";
import { STANDINS, folderWith, loadedElsewhere } from "./loading.mjs";

const imports = (name, of = "@mariozechner/pi-coding-agent") => `import { ${name} } from "${of}";\n`;
/** A package that says where it is. */
const pack = (folder, name, more = "") => ({
  [`${folder}/node_modules/${name}/package.json`]: JSON.stringify({
    name,
    type: "module",
    exports: { ".": { import: "./main.js" }, "./oauth": { import: "./oauth.js" } },
    bin: { pi: "cli.js" },
  }),
  [`${folder}/node_modules/${name}/main.js`]: `export const where = "${folder}/${name}";${more}`,
  [`${folder}/node_modules/${name}/oauth.js`]: `export const where = "${folder}/${name}/oauth";`,
});
const INDEX = (name) => `${imports("where, absent", name)}export default () => [where, typeof absent];`;

test("a package beside the extension comes first, under either name", (context) => {
  const folder = folderWith(context, {
    "ext/index.ts": INDEX("@mariozechner/pi-ai"),
    ...pack("ext", "@earendil-works/pi-ai"),
    ...pack("agent/npm", "@mariozechner/pi-ai"),
  });
  const { value } = loadedElsewhere(path.join(folder, "ext/index.ts"), { agentDirectory: path.join(folder, "agent") });
  assert.deepEqual(value, ["ext/@earendil-works/pi-ai", "undefined"]);
});

test("a package in the agent's directory comes next, with its modules", (context) => {
  const folder = folderWith(context, { "ext/index.ts": INDEX("@earendil-works/pi-ai/oauth"), ...pack("agent/npm", "@mariozechner/pi-ai") });
  const { value } = loadedElsewhere(path.join(folder, "ext/index.ts"), { agentDirectory: path.join(folder, "agent") });
  assert.deepEqual(value, ["agent/npm/@mariozechner/pi-ai/oauth", "undefined"]);
});

test("the packages of the pi in PATH come next", (context) => {
  const folder = folderWith(context, {
    "ext/index.ts": INDEX("@mariozechner/pi-tui"),
    "other/index.ts": INDEX("@earendil-works/pi-coding-agent"),
    ...pack("global", "@mariozechner/pi-coding-agent"),
    ...pack("global", "@mariozechner/pi-tui"),
    ...pack("global", "@mariozechner/pi-ai"),
    "global/node_modules/@mariozechner/pi-coding-agent/cli.js": "",
    "bin/readme": "",
  });
  fs.symlinkSync("../global/node_modules/@mariozechner/pi-coding-agent/cli.js", path.join(folder, "bin/pi"));
  const values = ["ext", "other"].map(
    (name) => loadedElsewhere(path.join(folder, name, "index.ts"), { PATH: path.join(folder, "bin") }).value,
  );
  assert.deepEqual(values, [
    ["global/@mariozechner/pi-tui", "undefined"],
    ["global/@mariozechner/pi-coding-agent", "undefined"],
  ]);
});

test("a pi without its packages is used by its bundle", (context) => {
  const home = "agent/npm/node_modules/@earendil-works/pi-coding-agent";
  const folder = folderWith(context, {
    "ext/index.ts": INDEX("@earendil-works/pi-tui"),
    ...pack("agent/npm", "@earendil-works/pi-coding-agent"),
    [`${home}/dist/bundle/chunks/virtual-modules-ABC123.js`]: `export const VIRTUAL_MODULES = { "@earendil-works/pi-tui": { where: "bundle" } };`,
  });
  const { value } = loadedElsewhere(path.join(folder, "ext/index.ts"), { agentDirectory: path.join(folder, "agent") });
  assert.deepEqual(value, ["bundle", "undefined"]);
});

test("without pi, what the stand-in has is there", (context) => {
  const folder = folderWith(context, {
    "index.ts": `${imports("Text, matchesKey", "@mariozechner/pi-tui")}${imports("StringEnum", "@earendil-works/pi-ai")}export default () => [new Text("hello world", 1, 0).render(8), matchesKey("\\x1b[A", "up"), StringEnum(["a", "b"])];`,
  });
  const { value } = loadedElsewhere(path.join(folder, "index.ts"));
  assert.deepEqual(value, [[" hello  ", " world  "], true, { type: "string", enum: ["a", "b"] }]);
});

test("without pi, a name of pi's that the stand-in lacks can be imported, and says so when it is used", (context) => {
  const folder = folderWith(context, {
    "index.ts": `${imports("createAgentSessionRuntime, InteractiveMode")}export default () => [() => createAgentSessionRuntime({}), () => new InteractiveMode(), () => InteractiveMode.start].map((use) => { try { return use(); } catch (error) { return error.message; } });`,
  });
  const says = (name) =>
    `${name} of pi-coding-agent is not available: pi is not installed where extensions look for it, and its stand-in lacks it.`;
  const { value } = loadedElsewhere(path.join(folder, "index.ts"));
  assert.deepEqual(value, [says("createAgentSessionRuntime"), says("InteractiveMode"), says("InteractiveMode")]);
});

test("without pi, a name that pi does not have is an error", (context) => {
  const folder = folderWith(context, { "index.ts": `${imports("nothingLikeIt")}export default () => nothingLikeIt;` });
  const { error } = loadedElsewhere(path.join(folder, "index.ts"));
  assert.equal(
    error,
    `${folder}/index.ts:1: The requested module '@mariozechner/pi-coding-agent' does not provide an export named 'nothingLikeIt'`,
  );
});

test("without pi, a module that there is no stand-in for is an error that names it", (context) => {
  const folder = folderWith(context, { "index.ts": `${imports("x", "@mariozechner/pi-ai/dist/deep.js")}export default () => x;` });
  const { error } = loadedElsewhere(path.join(folder, "index.ts"));
  assert.equal(error, "pi is not installed where extensions look for it, and there is no stand-in for @mariozechner/pi-ai/dist/deep.js.");
});

test("without pi, packages that an extension uses, import() and require get the stand-ins, too", (context) => {
  const folder = folderWith(context, {
    "index.ts": `import { module } from "as-module";\nimport { script } from "as-script";\nexport default async () => [module, script, (await import("@mariozechner/pi-tui")).Key.up];`,
    "node_modules/as-module/package.json": `{"name": "as-module", "type": "module", "exports": "./main.js"}`,
    "node_modules/as-module/main.js": `${imports("Text, TUI", "@mariozechner/pi-tui")}export const module = [typeof Text, typeof TUI];`,
    "node_modules/as-script/package.json": `{"name": "as-script"}`,
    "node_modules/as-script/index.js": `exports.script = typeof require("@earendil-works/pi-ai").StringEnum;`,
  });
  assert.deepEqual(loadedElsewhere(path.join(folder, "index.ts")).value, [["function", "function"], "function", "up"]);
});

/** A schema, as each version of typebox that pi has given writes it. */
for (const [api, expected] of [
  [
    "0.52",
    `{"description":"d","type":"object","required":["a","c"],"properties":{"a":{"minLength":1,"type":"string"},"b":{"type":"array","items":{"const":1,"type":"number"}},"c":{"anyOf":[{"const":"x","type":"string"},{"const":"y","type":"string"}]}}}`,
  ],
  [
    "1.5",
    `{"type":"object","required":["a","c"],"properties":{"a":{"type":"string","minLength":1},"b":{"type":"array","items":{"type":"number","const":1}},"c":{"enum":["x","y"]}},"description":"d"}`,
  ],
]) {
  test(`schemas are written as the typebox of ${api} writes them`, (context) => {
    const folder = folderWith(context, {
      "index.ts": `import { Type, type Static } from "@sinclair/typebox";\nexport default () => JSON.stringify(Type.Object({ a: Type.String({ minLength: 1 }), b: Type.Optional(Type.Array(Type.Literal(1))), c: Type.Enum({ X: "x", Y: "y" }) }, { description: "d" }));`,
    });
    assert.equal(loadedElsewhere(path.join(folder, "index.ts"), { api }).value, expected);
  });
}

/** The server, for stand-ins that are used in this process: what it was asked, and what it answers. */
function server(answers) {
  const asked = [];
  globalThis[Symbol.for("pi-rpc.host")] = {
    api: "1.5",
    cwd: "/work",
    agentDirectory: "/agent",
    query: (about, more) => answers[about]?.(more),
    request: async (frame) => {
      asked.push(frame);
      return answers[frame.type](frame);
    },
  };
  return asked;
}

test("built-in tools are run by the server, with paths that it can find", async () => {
  const asked = server({
    run_tool: ({ toolName }) =>
      toolName === "ls"
        ? { isError: true, result: { content: [{ type: "text", text: "no such directory" }] } }
        : { isError: false, result: { content: [{ type: "text", text: "ran" }], details: {} } },
  });
  const { createBashTool, createLsTool, createReadTool } = await import(`${STANDINS}pi-coding-agent.mjs`);
  const ran = [
    await createReadTool("/else").execute("1", { path: "a.txt" }),
    await createBashTool("/it's", { commandPrefix: "set -e" }).execute("2", { command: "ls", timeout: 5 }),
  ];
  await assert.rejects(createLsTool("/work").execute("3", {}), { message: "no such directory" });
  assert.deepEqual(ran, [
    { content: [{ type: "text", text: "ran" }], details: {} },
    { content: [{ type: "text", text: "ran" }], details: {} },
  ]);
  assert.deepEqual(asked, [
    { type: "run_tool", toolName: "read", arguments: { path: "/else/a.txt" } },
    { type: "run_tool", toolName: "bash", arguments: { command: "cd '/it'\\''s' || exit 1\nset -e\nls", timeout: 5 } },
    { type: "run_tool", toolName: "ls", arguments: {} },
  ]);
});

test("built-in tools with operations of the extension's own are done with those", async () => {
  const asked = server({});
  const { createBashTool, createEditTool, createReadTool, createWriteTool } = await import(`${STANDINS}pi-coding-agent.mjs`);
  const files = new Map([["/far/a", "one\ntwo\n"]]);
  const operations = {
    access: async (file) => assert(files.has(file)),
    readFile: async (file) => Buffer.from(files.get(file)),
    writeFile: async (file, text) => void files.set(file, text),
    mkdir: async () => {},
    exec: async (command, cwd, { onData }) => (onData(Buffer.from(`${cwd}$ ${command}`)), { exitCode: 3 }),
  };
  const options = { operations };
  await createWriteTool("/far", options).execute("1", { path: "b", content: "new" });
  await createEditTool("/far", options).execute("2", { path: "a", edits: [{ oldText: "two", newText: "2" }] });
  const read = await createReadTool("/far", options).execute("3", { path: "a", offset: 2, limit: 1 });
  await assert.rejects(createBashTool("/far", options).execute("4", { command: "false" }), {
    message: "/far$ false\n\nCommand exited with code 3",
  });
  assert.deepEqual(
    [...files],
    [
      ["/far/a", "one\n2\n"],
      ["/far/b", "new"],
    ],
  );
  assert.deepEqual(read.content, [{ type: "text", text: "2\n\n[Showing lines 2-2 of 3. Use offset=3 to continue.]" }]);
  assert.deepEqual(asked, []);
});

test("models are asked by the server, and a failure is an answer", async () => {
  const message = { role: "assistant", content: [{ type: "text", text: "hi" }], stopReason: "stop" };
  const asked = server({
    complete: ({ modelId }) => {
      if (modelId === "broken") throw new Error("no key");
      return { message };
    },
    models: () => ({ models: [{ model: { id: "m", provider: "p" }, usable: true }] }),
  });
  const { complete, getModel, streamSimple } = await import(`${STANDINS}pi-ai.mjs`);
  const context = { systemPrompt: "s", messages: [{ role: "user", content: "q", timestamp: 0 }] };
  const answer = await complete(getModel("p", "m"), context, { apiKey: "ignored", maxTokens: 9 });
  const events = [];
  for await (const event of streamSimple({ id: "m", provider: "p" }, { messages: [] }, { reasoning: "low" })) events.push(event.type);
  const failed = await complete({ id: "broken", provider: "p", api: "a" }, context);
  assert.deepEqual(
    [answer, events, failed.stopReason, failed.errorMessage],
    [message, ["start", "text_start", "text_delta", "text_end", "done"], "error", "no key"],
  );
  assert.deepEqual(asked.slice(0, 2), [
    { type: "complete", provider: "p", modelId: "m", messages: context.messages, systemPrompt: "s", maxTokens: 9 },
    { type: "complete", provider: "p", modelId: "m", messages: [], level: "low" },
  ]);
});

test("every name that a stand-in exports is one of pi's", async () => {
  server({});
  const names = JSON.parse(fs.readFileSync(new URL("names.json", STANDINS), "utf8"));
  const files = {
    "pi-ai": "pi-ai",
    "pi-agent-core": "pi-agent-core",
    "pi-tui": "pi-tui",
    "pi-coding-agent": "pi-coding-agent",
    typebox: "typebox",
    "typebox/value": "typebox-value",
  };
  const strange = [];
  for (const [name, file] of Object.entries(files)) {
    const exported = Object.keys(await import(`${STANDINS}${file}.mjs`));
    strange.push(...exported.filter((one) => one !== "default" && !names[name].includes(one)).map((one) => `${name}: ${one}`));
  }
  assert.deepEqual(strange, []);
});

/** Texts, and how pi 1.5.2 and 0.52.12 tell their difference. */
const DIFFERENCES = [
  ["a\nb\nc\n", "a\nB\nc\n", " 1 a\n-2 b\n+2 B\n 3 c", 2],
  ["", "x\n", "+1 x", 1],
  ["a\n", "a", "-1 a\n+1 a", 1],
  ["same\n", "same\n", "", undefined],
  ["1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n", "2\n3\n4\n5\n6\n7\n8\n9\n10\n", "- 1 1\n  2 2\n  3 3\n  4 4\n  5 5\n    ...", 1],
];

test("without pi, differences are told as pi tells them", async () => {
  const { generateDiffString, generateUnifiedPatch } = await import(`${STANDINS}pi-coding-agent.mjs`);
  server({});
  for (const [before, after, diff, firstChangedLine] of DIFFERENCES) {
    assert.deepEqual(generateDiffString(before, after), { diff, firstChangedLine });
  }
  const lines = Array.from({ length: 12 }, (_, at) => `l${at}`);
  const changed = lines.map((line, at) => (at === 0 || at === 11 ? "x" : line));
  const { diff } = generateDiffString(lines.join("\n"), changed.join("\n"), 1);
  assert.equal(diff, "- 1 l0\n+ 1 x\n  2 l1\n    ...\n 11 l10\n-12 l11\n+12 x");
  const patch = "--- f\n+++ f\n@@ -1,2 +1,2 @@\n-l0\n+x\n l1\n@@ -11,2 +11,2 @@\n l10\n-l11\n\\ No newline at end of file\n+x\n\\ No newline at end of file\n";
  assert.equal(generateUnifiedPatch("f", lines.join("\n"), changed.join("\n"), 1), patch);
});

test("without pi, an image that fits is given as it is, and others are none", async () => {
  const { formatDimensionNote, resizeImage } = await import(`${STANDINS}pi-coding-agent.mjs`);
  const data = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const image = { data, mimeType: "image/png", originalWidth: 1, originalHeight: 1, width: 1, height: 1, wasResized: false };
  assert.deepEqual(await resizeImage(Buffer.from(data, "base64"), "image/png"), image);
  assert.equal(await resizeImage(Buffer.from(data, "base64"), "image/png", { maxWidth: 0 }), null);
  assert.equal(await resizeImage(Buffer.from("bad"), "image/png"), null);
  assert.equal(formatDimensionNote(image), undefined);
});
