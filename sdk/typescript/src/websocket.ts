import { HostError } from "./errors.js";
import { CONTROL, HostSession, type OpenSocket } from "./host_session.js";
import type { Connect } from "./transport.js";

/** Beginning of the subprotocol that carries a token, as a page cannot set headers. */
const BEARER = "pi-rpc.bearer.";

/** Options of a connection by WebSocket. */
export interface WebSocketOptions {
  /** Token that the host knows; absent: none. */
  readonly token?: string | undefined;
  /** Milliseconds for which a broken connection is tried again; default 60,000. */
  readonly reconnectMs?: number | undefined;
}

/**
 * Connects to a session of a `pi-rpc host`: `ws://…/sessions/ID`, or `/sessions/new?…` for a new one. Needs the global
 * `WebSocket` of browsers and of Node.js 22, which does not tell why a host refuses: `host` of `pi-rpc-client/node` does.
 */
export function webSocket(url: string | URL, { token, reconnectMs = 60_000 }: WebSocketOptions = {}): Connect {
  const { href, origin, protocol, host, pathname, search } = new URL(url);
  const base = origin === "null" ? `${protocol}//${host}` : origin;
  const bearer = token === undefined ? [] : [BEARER + base64url(token)];
  const open: OpenSocket = (path, events) => {
    const socket = new WebSocket(base + path, [CONTROL, ...bearer]);
    socket.binaryType = "arraybuffer";
    let wasOpen = false;
    socket.addEventListener("open", () => (wasOpen = true));
    socket.addEventListener("message", ({ data }) => {
      if (typeof data === "string") events.text(data);
      else events.control(new TextDecoder().decode(data as ArrayBuffer));
    });
    socket.addEventListener("close", ({ code, reason }) => {
      const failure = wasOpen ? undefined : new HostError(`${href}: nobody listens there, or the host has refused`);
      events.closed({ code, reason, failure });
    });
    return {
      send: (text) => socket.readyState === WebSocket.OPEN && socket.send(text),
      // What a page has received cannot wait. The host coalesces deltas that are not read.
      hold: () => {},
      close: () => socket.close(),
    };
  };
  return (receiver) => new HostSession(pathname + search, reconnectMs, open, receiver);
}

function base64url(text: string): string {
  const bytes = String.fromCharCode(...new TextEncoder().encode(text));
  return btoa(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
