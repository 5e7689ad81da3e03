import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import type { Exit } from "./errors.js";
import { Lines } from "./framing.js";
import type { Connect, Receiver, Transport } from "./transport.js";
import { soon } from "./wait.js";

/** Kept end of stderr, in characters. */
const STDERR = 8192;

/** Time for reading remaining output after the exit, in milliseconds; only a stray child keeps a pipe open longer. */
const LAST_WORDS_MS = 1000;

/** Time for a server to exit after closing a pipe, in milliseconds. */
const CUT_OFF_MS = 500;

/** Time for a server to exit after SIGTERM, in milliseconds. */
const TERM_MS = 2000;

/** Running servers, which are ended with this process. */
const running = new Set<Server>();
process.on("exit", () => running.forEach((server) => server.kill("SIGKILL")));

/** Where a server is started, and how long its lines may be. */
interface Place {
  readonly cwd?: string | undefined;
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  readonly longestLine?: number | undefined;
}

/** Starts a server: a program and its arguments. */
export function startProcess(command: readonly string[], place: Place): Connect {
  return (receiver) => new Server(command, place, receiver);
}

/** Process of a server, in a process group of its own, so that all its children can be ended. */
class Server implements Transport {
  /** Exit of the process, once all its output was read. */
  readonly exited: Promise<Exit>;
  readonly #child: ChildProcessWithoutNullStreams;
  #stderr = "";
  #isOver = false;

  /** Starts the process; `receiver` gets the lines of its stdout. */
  constructor(command: readonly string[], { cwd, env, longestLine = 256 * 1024 * 1024 }: Place, receiver: Receiver) {
    const [program = "", ...args] = command;
    const lines = new Lines(longestLine);
    this.#child = spawn(program, args, { cwd, env, stdio: "pipe", detached: true });
    this.#child.stdout.on("data", (chunk: Buffer) => {
      try {
        receiver.lines(lines.push(chunk));
      } catch (error) {
        receiver.failed(error);
      }
    });
    this.#child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-STDERR);
    });
    this.#child.stdin.on("error", () => this.#cutOff());
    this.#child.stdout.on("end", () => this.#cutOff());
    this.exited = this.#end();
    running.add(this);
  }

  /** Id of the process and of its group; undefined if it could not be started. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  write(line: string): void {
    if (this.#child.stdin.writable) this.#child.stdin.write(line);
  }

  /** Pauses or resumes reading; remaining output is read after the exit in any case. */
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
      // The group has no processes any more.
    }
  }

  /** Closes the input and waits for the exit up to a limit, then sends SIGTERM, then SIGKILL. */
  async close(graceMs: number): Promise<Exit> {
    this.#child.stdin.end();
    for (const [ms, signal] of [[graceMs, "SIGTERM"], [TERM_MS, "SIGKILL"]] as const) {
      if ((await soon(this.exited, ms)) !== undefined) break;
      this.kill(signal);
    }
    return this.exited;
  }

  /** Ends a server that has closed one of its pipes and does not exit in time. */
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
    // Remaining children.
    this.kill("SIGKILL");
    this.hold(false);
    if (child.pid !== undefined) await soon(closed, LAST_WORDS_MS);
    child.stdout.destroy();
    child.stderr.destroy();
    return { ...exit, stderr: this.#stderr };
  }
}
