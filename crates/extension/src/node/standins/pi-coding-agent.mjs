/**
 * Stand-in for pi-coding-agent: tools are run by the server, texts are cut and read here, themes and components show plain lines. Sessions of an
 * extension's own (`createAgentSession`) are in memory; pi's screens and its package manager are not there.
 */
import * as os from "node:os";
import * as path from "node:path";
import { bridge } from "./bridge.mjs";

export * from "./agent-diff.mjs";
export * from "./agent-frontmatter.mjs";
export * from "./agent-images.mjs";
export * from "./agent-interface.mjs";
export * from "./agent-messages.mjs";
export { AgentSession, createAgentSession, createExtensionRuntime } from "./agent-session.mjs";
export { createLocalBashOperations, getShellConfig, withFileMutationQueue } from "./agent-operations.mjs";
export * from "./agent-stores.mjs";
export * from "./agent-tools.mjs";
export * from "./agent-truncate.mjs";

export const CONFIG_DIR_NAME = ".pi";
export const CURRENT_SESSION_VERSION = 3;

/** The version of pi that the server behaves as. */
export const VERSION =
  { 0.52: "0.52.12", 0.58: "0.58.4", 0.73: "0.73.1", 1.5: "1.5.2" }[globalThis[Symbol.for("pi-rpc.host")]?.api] ?? "1.5.2";

export const getAgentDir = () => bridge().agentDirectory ?? path.join(os.homedir(), CONFIG_DIR_NAME, "agent");

/** A tool as it is: pi has this for its types. */
export const defineTool = (tool) => tool;

export const isToolCallEventType = (toolName, event) => event.toolName === toolName;
const isResultOf = (toolName) => (event) => event.toolName === toolName;
export const isBashToolResult = isResultOf("bash");
export const isReadToolResult = isResultOf("read");
export const isEditToolResult = isResultOf("edit");
export const isWriteToolResult = isResultOf("write");
export const isGrepToolResult = isResultOf("grep");
export const isFindToolResult = isResultOf("find");
export const isLsToolResult = isResultOf("ls");
export const isPowerShellToolResult = isResultOf("powershell");

/** A bus of events. An error of a listener goes to stderr; the other listeners are called all the same. */
export function createEventBus() {
  /** @type {Map<string, Set<(data: unknown) => unknown>>} */
  const listeners = new Map();
  return {
    emit(channel, data) {
      for (const listener of [...(listeners.get(channel) ?? [])]) {
        Promise.resolve()
          .then(() => listener(data))
          .catch((error) => console.error(`events: a listener of ${channel} failed:`, error));
      }
    },
    on(channel, listener) {
      const known = listeners.get(channel) ?? new Set();
      listeners.set(channel, known.add(listener));
      return () => known.delete(listener);
    },
    clear: () => listeners.clear(),
  };
}

/** Where something comes from that no file stands for. */
export const createSyntheticSourceInfo = (file, options) => ({
  path: file,
  source: options.source,
  scope: options.scope ?? "temporary",
  origin: options.origin ?? "top-level",
  baseDir: options.baseDir,
});

/** The skill that a message begins with, if it does. */
export function parseSkillBlock(text) {
  const found = /^<skill name="([^"]+)" location="([^"]+)">\n([\s\S]*?)\n<\/skill>(?:\n\n([\s\S]+))?$/.exec(text);
  return found && { name: found[1], location: found[2], content: found[3], userMessage: found[4]?.trim() || undefined };
}
