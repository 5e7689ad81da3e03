/** Older runtimes: what `jiti` is told. The one here only says what it was given. */
import assert from "node:assert/strict";
import * as path from "node:path";
import { test } from "node:test";
import { folderWith } from "./loading.mjs";

const { withJiti } = await import(new URL("../../src/extension/node/fallbacks.mjs", import.meta.url).href);
const FAKE = `exports.createJiti = (_, options) => ({ import: async (file, how) => ({ file, how, options }) });`;

test("jiti beside the extension loads it, with an alias for every module that pi gives", async (context) => {
  const folder = folderWith(context, {
    "index.ts": "",
    "node_modules/jiti/package.json": `{"name": "jiti", "main": "jiti.js"}`,
    "node_modules/jiti/jiti.js": FAKE,
    "agent/npm/node_modules/@mariozechner/pi-tui/package.json": `{"name": "@mariozechner/pi-tui", "exports": {".": {"types": "./x.d.ts", "import": "./dist/tui.js"}}}`,
    "agent/npm/node_modules/@mariozechner/pi-tui/dist/tui.js": "",
  });
  const file = path.join(folder, "index.ts");
  const { default: told } = await withJiti({ agentDirectory: path.join(folder, "agent") })(file);
  const { alias, ...options } = told.options;
  const tui = path.join(folder, "agent/npm/node_modules/@mariozechner/pi-tui/dist/tui.js");
  assert.deepEqual([told.file, told.how, options], [file, { default: true }, { moduleCache: false }]);
  assert.deepEqual([alias["@mariozechner/pi-tui"], alias["@earendil-works/pi-tui"]], [tui, tui]);
  const others = Object.entries(alias)
    .filter(([name]) => !name.endsWith("pi-tui"))
    .map(([name, to]) => `${name} ${path.basename(to)}`);
  assert.deepEqual(
    others.filter((line) => !line.startsWith("@earendil-works/")),
    [
      "@mariozechner/pi-ai/providers/all pi-ai.mjs",
      "@mariozechner/pi-ai/compat pi-ai.mjs",
      "@mariozechner/pi-ai/models pi-ai.mjs",
      "@mariozechner/pi-ai/oauth pi-ai.mjs",
      "@mariozechner/pi-ai pi-ai.mjs",
      "@mariozechner/pi-coding-agent pi-coding-agent.mjs",
      "@mariozechner/pi-agent-core pi-agent-core.mjs",
      "typebox/value typebox-value.mjs",
      "@sinclair/typebox/value typebox-value.mjs",
      "typebox/compile typebox-value.mjs",
      "@sinclair/typebox/compile typebox-value.mjs",
      "typebox typebox.mjs",
      "@sinclair/typebox typebox.mjs",
    ],
  );
});

test("without jiti the error says what is needed", async (context) => {
  const folder = folderWith(context, { "index.ts": "" });
  await assert.rejects(withJiti({ agentDirectory: "/nowhere" })(path.join(folder, "index.ts")), {
    message: `Node ${process.versions.node} cannot load extensions of pi: Node 22.18 or newer is needed, or an installed pi (or jiti) beside the extension, in /nowhere, or in PATH.`,
  });
});
