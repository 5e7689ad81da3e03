/** A kit for tests of clients: servers to start, and the judgement of what both sides wrote, at the end of each test. */
import { constants, accessSync, existsSync, mkdtempSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import type { Client, Options } from "./client.js";
import type { Dialect } from "./dialect.js";
import { BrokenRulesError, EARLY_EVENTS, judge } from "./judgement.js";

export { BrokenRulesError } from "./judgement.js";

/** The test that a server is for: the context of node's runner, or of vitest. */
export type TestOfServer =
  | { after(close: () => Promise<void>): void }
  | { onTestFinished(close: () => Promise<void>): void };

/** What the model answers: the content of a script (`pi-rpc schema --format script`), or the path of a file that has it. */
export type Script = object | string;

/** Options of every server. */
export interface ServerOptions {
  /** Further options of `pi-rpc serve` or `pi-rpc replay`. */
  readonly options?: readonly string[] | undefined;
  /** Whether the conversation is judged at the end of the test; default true. */
  readonly judged?: boolean | undefined;
}

/** Options of a server with a script. */
export interface ScriptedOptions extends ServerOptions {
  /** Dialect that it speaks; default `pi-1`. */
  readonly dialect?: string | undefined;
}

/** Options of a server with hazards. */
export interface HazardOptions extends ScriptedOptions {
  /** Hazards, as `pi-rpc serve --hazard` names them; default: all. */
  readonly hazards?: readonly string[] | undefined;
  /** The same seed is the same conversation; default 0. */
  readonly seed?: number | undefined;
}

/** A client class of this package, such as `Pi1Client`. */
interface Spawns<C> {
  spawn(options?: Options<never>): Promise<C>;
}

/** A server whose model answers what `script` has. */
export function scripted(test: TestOfServer, script: Script, options: ScriptedOptions = {}): TestServer {
  return serve(test, script, options, false);
}

function serve(test: TestOfServer, script: Script, options: ScriptedOptions, hasEarlyEvents: boolean): TestServer {
  const { dialect = "pi-1", options: further = [] } = options;
  const kit = Kit.of(test);
  const serve = ["serve", "--dialect", dialect, "--no-session", "--model", `scripted/${kit.script(script)}`];
  return kit.add(["--dialect", dialect], [...serve, ...further], options, hasEarlyEvents);
}

/** The same, legal and inconvenient. */
export function hazards(test: TestOfServer, script: Script, options: HazardOptions = {}): TestServer {
  const { hazards: names = ["all"], seed = 0, options: further = [] } = options;
  const hazard = ["--hazard", names.join(","), "--seed", String(seed)];
  const hasEarlyEvents = names.includes("all") || names.includes(EARLY_EVENTS);
  return serve(test, script, { ...options, options: [...hazard, ...further] }, hasEarlyEvents);
}

/** A server that answers what the one in a recording has answered. */
export function replay(test: TestOfServer, recording: string, options: ServerOptions = {}): TestServer {
  return Kit.of(test).add([], ["replay", ...(options.options ?? []), resolve(recording)], options);
}

/** A server that a client under test starts. */
export class TestServer {
  readonly #started: { close(): Promise<unknown> }[] = [];

  /** @internal */
  constructor(
    /** Program and arguments. */
    readonly command: readonly string[],
    /** What both sides have written, once the server was started. */
    readonly recording: string,
    /** Empty folder, in which `start` starts the server. */
    readonly folder: string,
    /** @internal */
    readonly judged: boolean,
    /** @internal */
    readonly hasEarlyEvents: boolean,
  ) {}

  /** Starts the server with a client of this package, which is closed at the end of the test. */
  async start<C extends Client<Dialect>>(client: Spawns<C>, options: Options<never> = {}): Promise<C> {
    const started = await client.spawn({ cwd: this.folder, ...options, command: this.command });
    this.#started.push(started);
    return started;
  }

  /** @internal */
  async close(): Promise<void> {
    await Promise.all(this.#started.splice(0).map((client) => client.close()));
  }
}

/** The servers of one test. */
class Kit {
  static readonly #kits = new WeakMap<TestOfServer, Kit>();
  readonly #folder = mkdtempSync(join(tmpdir(), "pi-rpc-test-"));
  readonly #program = program();
  readonly #servers: TestServer[] = [];

  static of(test: TestOfServer): Kit {
    let kit = Kit.#kits.get(test);
    if (kit === undefined) {
      kit = new Kit();
      Kit.#kits.set(test, kit);
      const ended = kit.#end.bind(kit);
      if ("after" in test) test.after(ended);
      else test.onTestFinished(ended);
    }
    return kit;
  }

  /** Path of a script. */
  script(script: Script): string {
    if (typeof script === "string") return resolve(script);
    const file = join(this.#folder, `script-${this.#servers.length + 1}.json`);
    writeFileSync(file, JSON.stringify(script));
    return file;
  }

  add(spoken: readonly string[], args: readonly string[], { judged = true }: ServerOptions, hasEarlyEvents = false): TestServer {
    const number = this.#servers.length + 1;
    const recording = join(this.#folder, `${number}.jsonl`);
    const folder = join(this.#folder, `folder-${number}`);
    mkdirSync(folder);
    // Violations are told at the end of the test, not on the server's stderr.
    const tap = ["tap", ...spoken, "--record", recording, "--report", "/dev/null", "--"];
    const command = [this.#program, ...tap, this.#program, ...args];
    const server = new TestServer(command, recording, folder, judged, hasEarlyEvents);
    this.#servers.push(server);
    return server;
  }

  async #end(): Promise<void> {
    for (const server of this.#servers) await server.close();
    const judged = this.#servers.filter((server) => server.judged);
    const missing = judged.find((server) => !existsSync(server.recording));
    if (missing !== undefined) {
      const command = missing.command.join(" ");
      throw new BrokenRulesError(`no conversation to judge: ${command} was not started (judged: false leaves it out)`);
    }
    await judge(this.#program, judged);
    // What a failed test has recorded stays, as its message names it.
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Path of pi-rpc: that of `PI_RPC_BIN`, else the one in `PATH`. */
function program(): string {
  const name = process.env["PI_RPC_BIN"] || "pi-rpc";
  const folders = name.includes("/") ? ["."] : (process.env["PATH"] ?? "").split(delimiter);
  const found = folders.map((folder) => resolve(folder, name)).find(isExecutable);
  if (found === undefined) throw new Error(`${name}: there is no such program; install pi-rpc, or set PI_RPC_BIN to its path`);
  return found;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
