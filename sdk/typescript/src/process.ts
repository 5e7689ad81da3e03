import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import type { Exit } from "./errors.js";
import { soon } from "./wait.js";

/** How much of stderr is kept, in characters. */
const STDERR = 8192;

/** How long what a server has written is read after its end, in milliseconds: longer only a stray child keeps a pipe. */
const LAST_WORDS_MS = 1000;

/** How long a server that has closed one of its pipes may go on, in milliseconds: one that ends closes them a little before. */
const CUT_OFF_MS = 500;

/** How long a server that was told to end by SIGTERM is waited for, in milliseconds. */
const TERM_MS = 2000;

/** Servers that run: none outlives this process. */
const running = new Set<Server>();
process.on("exit", () => running.forEach((server) => server.kill("SIGKILL")));

/** A server's process, which leads a process group of its own, so that it can be ended with all of its children. */
export class Server {
  /** How it ended, when everything that it wrote has been read. */
  readonly exited: Promise<Exit>;
  readonly #child: ChildProcessWithoutNullStreams;
  #stderr = "";
  #isOver = false;

  /** Starts it; `read` is handed what it writes to stdout. */
  constructor(
    command: readonly string[],
    place: { readonly cwd?: string | undefined; readonly env?: NodeJS.ProcessEnv | undefined },
    read: (chunk: Buffer) => void,
  ) {
    const [program = "", ...args] = command;
    this.#child = spawn(program, args, { ...place, stdio: "pipe", detached: true });
    this.#child.stdout.on("data", read);
    this.#child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-STDERR);
    });
    this.#child.stdin.on("error", () => this.#cutOff());
    this.#child.stdout.on("end", () => this.#cutOff());
    this.exited = this.#end();
    running.add(this);
  }

  /** The id of the process, and of its group; undefined if it could not be started. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  write(line: string): void {
    if (this.#child.stdin.writable) this.#child.stdin.write(line);
  }

  /** Leaves what it writes in the pipe, or reads on; what it wrote last is read in any case. */
  hold(held: boolean): void {
    if (held && !this.#isOver) this.#child.stdout.pause();
    else this.#child.stdout.resume();
  }

  /** Signals the whole group. */
  kill(signal: NodeJS.Signals): void {
    if (this.pid === undefined) return;
    try {
      process.kill(-this.pid, signal);
    } catch {
      // Nobody is left.
    }
  }

  /** Ends its input, and waits that long for its end; then it is told to end, and then made to. */
  async close(graceMs: number): Promise<Exit> {
    this.#child.stdin.end();
    for (const [ms, signal] of [[graceMs, "SIGTERM"], [TERM_MS, "SIGKILL"]] as const) {
      if ((await soon(this.exited, ms)) !== undefined) break;
      this.kill(signal);
    }
    return this.exited;
  }

  /** Nothing can be said to it any more, or heard of it: it is at its end, or else is brought there. */
  #cutOff(): void {
    if (!this.#isOver && !this.#child.stdin.writableEnded) void this.close(CUT_OFF_MS);
  }

  async #end(): Promise<Exit> {
    const child = this.#child;
    const closed = new Promise((resolve) => child.once("close", resolve));
    const exit = await new Promise<Pick<Exit, "code" | "signal">>((resolve) => {
      child.once("exit", (code, signal) => resolve({ code, signal }));
      child.once("error", (error) => {
        this.#stderr ||= error.message;
        if (child.pid === undefined) resolve({ code: null, signal: null });
      });
    });
    this.#isOver = true;
    running.delete(this);
    // Its children, if it left any.
    this.kill("SIGKILL");
    this.hold(false);
    if (child.pid !== undefined) await soon(closed, LAST_WORDS_MS);
    child.stdout.destroy();
    child.stderr.destroy();
    return { ...exit, stderr: this.#stderr };
  }
}
