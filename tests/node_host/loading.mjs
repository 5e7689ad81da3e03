/** Helpers of the loader's tests: folders with files in them, and processes that load extensions. */
import { spawnSync } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { pathToFileURL } from "node:url";

export const LOADER = new URL("../../crates/extension/src/node/loader.mjs", import.meta.url).href;
export const STANDINS = new URL("../../crates/extension/src/node/standins/", import.meta.url).href;

/** What the server starts Node with. */
export const NODE_OPTIONS = ["--experimental-vm-modules", "--experimental-import-meta-resolve"];

/**
 * A folder with these files; it goes when the test ends.
 * @param {import("node:test").TestContext} test
 * @param {Record<string, string>} files Their texts, by path.
 */
export function folderWith(test, files) {
  const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "pi-rpc-loader-")));
  test.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    fs.writeFileSync(path.join(folder, name), text);
  }
  return folder;
}

/**
 * Loads an extension in a process of its own, and calls what it exports.
 * @param {string} file The extension.
 * @param {{ agentDirectory?: string, api?: string, PATH?: string, cache?: string, cwd?: string, first?: string,
 *   variables?: Record<string, string | undefined> }} [options] `first` is run before anything else; it has `module`.
 * @returns {{ value?: any, error?: string, stderr: string }} What the call gave, or the message of the error.
 */
export function loadedElsewhere(file, { agentDirectory = "/nowhere", api = "1.5", PATH = "", cache, cwd, first = "", variables } = {}) {
  const program = `
    import module from "node:module";
    ${first}
    module.syncBuiltinESMExports();
    globalThis[Symbol.for("pi-rpc.host")] = { api: ${JSON.stringify(api)}, cwd: process.cwd(), agentDirectory: ${JSON.stringify(agentDirectory)} };
    const { prepare, load } = await import(${JSON.stringify(LOADER)});
    await prepare({ cwd: process.cwd(), agentDirectory: ${JSON.stringify(agentDirectory)}, cache: ${JSON.stringify(cache)} });
    let told;
    try { told = { value: await (await load(${JSON.stringify(file)}))() }; } catch (error) { told = { error: error.message }; }
    process.stdout.write(JSON.stringify(told));`;
  const { HOME, NODE_PATH, PI_RPC_TYPE_STRIPPER } = process.env;
  const { stdout, stderr } = spawnSync(process.execPath, [...NODE_OPTIONS, "--input-type=module", "-e", program], {
    encoding: "utf8",
    cwd,
    env: { PATH, HOME, NODE_PATH, PI_RPC_TYPE_STRIPPER, ...variables },
  });
  return { ...JSON.parse(stdout || "{}"), stderr };
}

/** The address of a file, as `import` has it. */
export const addressOf = (file) => pathToFileURL(file).href;
