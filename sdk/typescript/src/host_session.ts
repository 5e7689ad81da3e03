import { HostError, type Exit } from "./errors.js";
import type { Receiver, Transport } from "./transport.js";
import { deferred, soon } from "./wait.js";

/** Subprotocol in which the host also sends messages about the connection. */
export const CONTROL = "pi-rpc.control.v1";

/** Waits before a broken connection is made again, in milliseconds: the first, and the longest. */
const WAITS_MS = [50, 2000] as const;

/** One connection by WebSocket, which is being opened or is open. */
export interface Socket {
  send(text: string): void;
  /** Pauses or resumes reading, where that is possible. */
  hold(held: boolean): void;
  close(): void;
}

/** What a socket reports. */
export interface SocketEvents {
  /** A frame. */
  text(line: string): void;
  /** A message about the connection. */
  control(json: string): void;
  /** The end of the connection, once. */
  closed(end: SocketEnd): void;
}

/** End of a connection. */
export interface SocketEnd {
  /** Code of the WebSocket. */
  readonly code: number;
  /** Its reason. */
  readonly reason: string;
  /** Why there never was a connection; absent: there was one. */
  readonly failure?: HostError | undefined;
  /** Whether another attempt would fail as well, such as with a wrong token. */
  readonly isFinal?: boolean | undefined;
}

/** Opens a connection to `path` of a host, which has a query. */
export type OpenSocket = (path: string, events: SocketEvents) => Socket;

/** Message of the host about a connection, as far as it matters here. */
interface Control {
  readonly type: string;
  readonly sessionId: string;
  readonly sequence: number;
  readonly receivedLines: number;
  readonly lines: number;
}

/**
 * A session of a host, over as many connections as it takes. When one breaks, it is made again: the host sends what was
 * missed, and lines that it has not confirmed are sent once more. The session goes on after the last one.
 */
export class HostSession implements Transport {
  readonly pid = undefined;
  readonly exited: Promise<Exit>;
  readonly #ended = deferred<Exit>();
  readonly #receiver: Receiver;
  readonly #open: OpenSocket;
  readonly #patienceMs: number;
  #path: string;
  readonly #query: URLSearchParams;
  #socket: Socket;
  #isAttached = false;
  #isClosing = false;
  #isHeld = false;
  /** Number of the last frame; undefined before the first connection. */
  #sequence: number | undefined;
  /** Lines without confirmation, the first of which has the number `#confirmed` + 1. */
  #unconfirmed: string[] = [];
  #confirmed = 0;

  /** `path` is that of the session, such as `/sessions/new?cwd=…`; a broken connection is tried again for `patienceMs`. */
  constructor(path: string, patienceMs: number, open: OpenSocket, receiver: Receiver) {
    const [before = "", query = ""] = path.split("?", 2);
    this.#path = before;
    this.#query = new URLSearchParams(query);
    if (!this.#query.has("client")) this.#query.set("client", randomName());
    this.#receiver = receiver;
    this.#patienceMs = patienceMs;
    this.#open = open;
    this.exited = this.#ended.promise;
    this.#socket = this.#connect(0, 0);
  }

  write(line: string): void {
    const text = line.replace(/\n$/, "");
    this.#unconfirmed.push(text);
    if (this.#isAttached) this.#socket.send(text);
  }

  hold(held: boolean): void {
    this.#isHeld = held;
    this.#socket.hold(held);
  }

  kill(): void {
    this.#isClosing = true;
    this.#socket.close();
  }

  async close(graceMs: number): Promise<Exit> {
    this.kill();
    this.#socket.hold(false);
    const closed = await soon(this.exited, graceMs);
    return closed ?? { code: 1006, signal: null, stderr: "the host did not close the connection" };
  }

  /** Connects; `until` is the time until which a failure is followed by another attempt after `waitMs`. */
  #connect(until: number, waitMs: number): Socket {
    if (this.#sequence !== undefined) this.#query.set("after", String(this.#sequence));
    this.#isAttached = false;
    let isOver = false;
    const socket = this.#open(`${this.#path}?${this.#query}`, {
      text: (line) => {
        if (this.#sequence !== undefined) this.#sequence += 1;
        this.#receiver.lines([line]);
      },
      control: (json) => this.#control(JSON.parse(json) as Control),
      closed: (end) => {
        if (isOver) return;
        isOver = true;
        this.#lost(end, until, waitMs);
      },
    });
    if (this.#isHeld) socket.hold(true);
    return socket;
  }

  #control(control: Control): void {
    switch (control.type) {
      case "attached":
        if (this.#sequence !== undefined && this.#sequence !== control.sequence) return this.#fail(this.#sequence + 1);
        this.#sequence = control.sequence;
        // From now on it is this session, also if it was a new one.
        this.#path = `/sessions/${encodeURIComponent(control.sessionId)}`;
        this.#confirm(control.receivedLines);
        this.#isAttached = true;
        for (const line of this.#unconfirmed) this.#socket.send(line);
        break;
      case "position":
        this.#sequence = control.sequence - 1;
        break;
      case "received":
        this.#confirm(control.lines);
        break;
      case "session_snapshot":
        this.#sequence = control.sequence;
        this.#receiver.skipped();
        break;
      case "session_ended":
        this.kill();
        break;
    }
  }

  /** Forgets lines that the host has received. */
  #confirm(received: number): void {
    const count = Math.max(0, received - this.#confirmed);
    this.#confirmed += this.#unconfirmed.splice(0, count).length;
  }

  #lost({ code, reason, failure, isFinal = false }: SocketEnd, until: number, waitMs: number): void {
    const exit = { code, signal: null, stderr: reason };
    const isFirst = this.#sequence === undefined;
    // An attempt that has got through starts the count anew.
    const [since, wait] = failure === undefined ? [Date.now() + this.#patienceMs, WAITS_MS[0]] : [until, waitMs];
    if (this.#isClosing) return this.#ended.resolve(exit);
    if (isFirst || isFinal || Date.now() >= since) return this.#ended.resolve({ ...exit, failure });
    setTimeout(() => {
      if (this.#isClosing) this.#ended.resolve(exit);
      else this.#socket = this.#connect(since, Math.min(2 * wait, WAITS_MS[1]));
    }, wait);
  }

  /** Ends the session here, as the frames from this number on are no longer kept: calls could have been answered there. */
  #fail(from: number): void {
    const failure = new HostError(`the host no longer keeps the frames from number ${from} on; connect again`);
    this.#ended.resolve({ code: 1000, signal: null, stderr: failure.message, failure });
    this.kill();
  }
}

/** A name that no other client has; pages that came without TLS have no `randomUUID`. */
function randomName(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
