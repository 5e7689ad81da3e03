/** A server to try the host of pi's extensions with: it says hello, answers, and keeps what the host says. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { NODE_OPTIONS } from "./loading.mjs";

const MAIN = new URL("../../crates/extension/src/node/main.mjs", import.meta.url).pathname;

/** What the session is like unless a test says otherwise. */
const STATE = {
  isIdle: true,
  hasPendingMessages: false,
  sessionId: "s1",
  entryCount: 0,
  activeTools: ["read"],
  thinkingLevel: "medium",
};

/**
 * Starts a host.
 * @param {{ test: import("node:test").TestContext, extensions?: (string | Function)[], api?: string,
 *   words?: string[], trusted?: boolean, answers?: Record<string, unknown>, maxFrame?: number,
 *   variables?: Record<string, string>, loaded?: boolean, connectsMcp?: boolean }} how `extensions` are factories, or the
 *   text of their files; `answers` are data, or functions of the query, by what was asked for.
 */
export async function started(how) {
  const { test, extensions = [], api = "1.5", words = [], answers = {}, trusted, maxFrame = 1 << 23, variables = {}, loaded, connectsMcp } = how;
  const folder = mkdtempSync(join(tmpdir(), "node-host-"));
  const members = extensions.map((extension, index) => {
    const path = join(folder, `extension${index}.mjs`);
    writeFileSync(path, typeof extension === "string" ? extension : `export default ${extension};`);
    return { path, sourceInfo: { path, source: "cli", scope: "temporary", origin: "top-level" }, loaded };
  });
  const server = new Server(folder, { state: STATE, ...answers }, variables);
  test.after(() => server.end());
  server.tell({
    type: "hello",
    protocol: 1,
    dialect: "pi-1",
    cwd: folder,
    agentDirectory: folder,
    maxFrame,
    api,
    version: "0.0.0",
    arguments: words,
    ...(trusted !== undefined && { projectTrusted: trusted }),
    ...(connectsMcp !== undefined && { connectsMcp }),
    members,
  });
  server.paths = members.map(({ path }) => path);
  server.registered = await server.hear("register");
  return server;
}

class Server {
  /** Everything that the host has said and nobody has waited for yet. */
  said = [];
  #lines = "";
  #waiting = [];
  #lastId = 0;

  constructor(folder, answers, variables) {
    this.folder = folder;
    this.answers = answers;
    const env = { ...process.env, ...variables };
    this.process = spawn(process.execPath, [...NODE_OPTIONS, MAIN], { stdio: ["pipe", "pipe", "pipe", "pipe"], cwd: folder, env });
    this.process.stdout.setEncoding("utf8").on("data", (piece) => this.#take(piece));
    this.remarks = "";
    this.process.stderr.setEncoding("utf8").on("data", (piece) => (this.remarks += piece));
    this.ended = new Promise((resolve) => this.process.on("close", (code) => resolve(code)));
    this.ended.then((code) => {
      for (const { type, reject } of this.#waiting.splice(0)) {
        reject(new Error(`the host has ended (${code}) without ${type}: ${this.remarks}`));
      }
    });
  }

  tell(frame) {
    this.process.stdin.write(`${JSON.stringify(frame)}\n`);
  }

  /** The next frame of a type that was not waited for yet. */
  hear(type) {
    const at = this.said.findIndex((frame) => frame.type === type);
    if (at !== -1) return Promise.resolve(this.said.splice(at, 1)[0]);
    return new Promise((resolve, reject) => this.#waiting.push({ type, resolve, reject }));
  }

  /** Asks for something and gives how it ended. */
  async ask(frame, by = ["done", "failed", "tool_result"]) {
    const id = `r${++this.#lastId}`;
    this.tell({ ...frame, id });
    const { id: _, ...end } = await Promise.any(by.map((type) => this.#hearOf(type, id)));
    return end;
  }

  /** The result of a hook. */
  async hook(hook) {
    const end = await this.ask({ type: "hook", hook });
    return end.type === "done" ? end.result : end;
  }

  /** All that was said of some types, in order. */
  of(...types) {
    return this.said.filter(({ type }) => types.includes(type));
  }

  async end() {
    this.process.stdin.end();
    await this.ended;
    rmSync(this.folder, { recursive: true, force: true });
  }

  #hearOf(type, id) {
    const at = this.said.findIndex((frame) => frame.type === type && frame.id === id);
    if (at !== -1) return Promise.resolve(this.said.splice(at, 1)[0]);
    return new Promise((resolve, reject) => this.#waiting.push({ type, id, resolve, reject }));
  }

  #take(piece) {
    const lines = (this.#lines + piece).split("\n");
    this.#lines = lines.pop();
    for (const line of lines) this.#frame(JSON.parse(line));
  }

  #frame(frame) {
    if (frame.type === "query") {
      this.#answer(frame);
      return;
    }
    const respond = this.answers[frame.type];
    if (respond && frame.id !== undefined) {
      const answer = respond(frame);
      if (answer) this.tell({ type: "response", id: frame.id, success: true, ...answer });
    }
    const at = this.#waiting.findIndex(({ type, id }) => type === frame.type && (id === undefined || id === frame.id));
    if (at === -1) this.said.push(frame);
    else this.#waiting.splice(at, 1)[0].resolve(frame);
  }

  #answer(query) {
    const known = this.answers[query.about];
    const data = typeof known === "function" ? known(query) : known;
    const said = known === undefined ? { error: `nothing is known of ${query.about}` } : { data };
    this.process.stdio[3].write(`${JSON.stringify({ type: "answer", id: query.id, ...said })}\n`);
  }
}
