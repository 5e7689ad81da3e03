import type { Exit } from "./errors.js";

/** Connection to a server, over which whole lines go both ways. */
export interface Transport {
  /** Id of the server's process; undefined if there is none on this machine. */
  readonly pid: number | undefined;
  /** End of the connection, once everything was read. */
  readonly exited: Promise<Exit>;
  /** Sends a line, which ends with a line feed. */
  write(line: string): void;
  /** Pauses or resumes reading, where that is possible. */
  hold(held: boolean): void;
  /** Ends the connection at once. */
  kill(signal: "SIGTERM" | "SIGKILL"): void;
  /** Ends the connection when the server is done, after `graceMs` in any case. */
  close(graceMs: number): Promise<Exit>;
}

/** What a transport reports to its client. */
export interface Receiver {
  /** Takes lines, without line ends. */
  lines(texts: readonly string[]): void;
  /** The server broke the rules of the transport. */
  failed(error: unknown): void;
  /** Frames were left out: what is known of the session may be out of date. */
  skipped(): void;
}

/** Opens a connection. */
export type Connect = (receiver: Receiver) => Transport;
