/**
 * Loads every extension below the folders that are named, with a `pi` that takes everything and no pi within reach, and lists those that do not load.
 *
 *     PATH= API=0.73 node tests/node_host/try_examples.mjs …/pi-coding-agent/examples/extensions
 *
 * For work on the loader and the stand-ins; copy the examples out of their `node_modules` first, or their own pi is found.
 */
import * as fs from "node:fs";
import * as path from "node:path";
import { LOADER } from "./loading.mjs";

const AGENT = "/nowhere";
globalThis[Symbol.for("pi-rpc.host")] = {
  api: process.env.API ?? "1.5",
  cwd: process.cwd(),
  agentDirectory: AGENT,
  query: () => undefined,
  request: async () => ({}),
};
const { prepare, load } = await import(LOADER);
await prepare({ cwd: process.cwd(), agentDirectory: AGENT });

/** Files, and folders with an index, as pi finds them. */
function extensionsIn(folder) {
  return fs.readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const file = path.join(folder, entry.name);
    if (!entry.isDirectory()) return /\.[tj]s$/.test(entry.name) ? [file] : [];
    return [path.join(file, "index.ts"), path.join(file, "index.js")].filter((index) => fs.existsSync(index)).slice(0, 1);
  });
}

/** Whatever is read of it is a function, and whatever that gives is the same again. */
function anything() {
  return new Proxy(() => {}, {
    get: (_, name) => (name === "then" || typeof name === "symbol" ? undefined : name === "getFlag" ? () => undefined : anything()),
    apply: () => anything(),
  });
}

const files = process.argv.slice(2).flatMap((folder) => extensionsIn(path.resolve(folder)));
let failed = 0;
for (const file of files) {
  try {
    const factory = await load(file);
    if (typeof factory !== "function") throw new Error("It has no factory.");
    await factory(anything());
  } catch (error) {
    failed += 1;
    console.log(`${file}: ${String(error?.message ?? error).split("\n")[0]}`);
  }
}
console.log(`${files.length - failed} of ${files.length} load.`);
process.exit(failed === 0 ? 0 : 1);
