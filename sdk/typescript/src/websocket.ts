import type { Exit } from "./errors.js";
import type { Connect, Receiver, Transport } from "./transport.js";
import { deferred, soon } from "./wait.js";

/** Subprotocol in which the host also sends messages about the connection. */
const CONTROL = "pi-rpc.control.v1";

/** Beginning of the subprotocol that carries a token, as a page cannot set headers. */
const BEARER = "pi-rpc.bearer.";

/** Options of a connection by WebSocket. */
export interface WebSocketOptions {
  /** Token that the host knows; absent: none. */
  readonly token?: string | undefined;
}

/** Connects to a session of a `pi-rpc host`: `ws://…/sessions/ID`, or `/sessions/new?…` for a new one. */
export function webSocket(url: string | URL, { token }: WebSocketOptions = {}): Connect {
  return (receiver) => new SocketTransport(String(url), token, receiver);
}

/** A session of a host: text messages are lines. The session goes on after the connection. */
class SocketTransport implements Transport {
  readonly pid = undefined;
  readonly exited: Promise<Exit>;
  readonly #socket: WebSocket;
  readonly #receiver: Receiver;
  readonly #opened = deferred<void>();

  constructor(url: string, token: string | undefined, receiver: Receiver) {
    this.#receiver = receiver;
    const bearer = token === undefined ? [] : [BEARER + base64url(token)];
    this.#socket = new WebSocket(url, [CONTROL, ...bearer]);
    this.#socket.binaryType = "arraybuffer";
    this.#socket.addEventListener("open", () => this.#opened.resolve());
    this.#socket.addEventListener("message", ({ data }) => this.#take(data as string | ArrayBuffer));
    this.exited = new Promise((resolve) => {
      this.#socket.addEventListener("close", ({ code, reason }) => {
        this.#opened.resolve();
        resolve({ code, signal: null, stderr: reason });
      });
    });
  }

  write(line: string): void {
    const text = line.replace(/\n$/, "");
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(text);
    else void this.#opened.promise.then(() => this.#isOpen() && this.#socket.send(text));
  }

  /** Does nothing: what a page has received cannot wait. The host coalesces deltas that are not read. */
  hold(): void {}

  kill(): void {
    this.#socket.close();
  }

  async close(graceMs: number): Promise<Exit> {
    this.kill();
    const closed = await soon(this.exited, graceMs);
    return closed ?? { code: 1006, signal: null, stderr: "the host did not close the connection" };
  }

  #isOpen(): boolean {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  #take(data: string | ArrayBuffer): void {
    if (typeof data === "string") return this.#receiver.lines([data]);
    const control = JSON.parse(new TextDecoder().decode(data)) as { readonly type: string };
    if (control.type === "session_snapshot") this.#receiver.skipped();
    if (control.type === "session_ended") this.kill();
  }
}

function base64url(text: string): string {
  const bytes = String.fromCharCode(...new TextEncoder().encode(text));
  return btoa(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
