/** Sessions of a `pi-rpc host` for programs of Node.js, by the package `ws`: Unix sockets, TLS, and errors that say why. */
import { connect as connectSocket } from "node:net";
import { WebSocket, type ClientOptions } from "ws";
import { HostError, HostRefusedError } from "./errors.js";
import { CONTROL, HostSession, type OpenSocket, type SocketEvents } from "./host_session.js";
import type { Connect } from "./transport.js";

/** Longest message of a host that is read, in bytes. */
const LONGEST = 1024 * 1024 * 1024;

/** Longest text that says why a host refuses, in characters. */
const REASON = 4096;

/** Time for a host to accept a connection, in milliseconds. */
const CONNECT_MS = 30_000;

/** Interval at which a silent connection is tried, in milliseconds. */
const PING_MS = 15_000;

/** Options of a connection to a host. */
export interface HostOptions {
  /** Token that the host knows; absent: none. */
  readonly token?: string | undefined;
  /** Certificates of authorities, in PEM, that vouch for the host at `wss://`; absent: those that Node.js trusts. */
  readonly ca?: string | undefined;
  /** Milliseconds for which a broken connection is tried again; default 60,000. */
  readonly reconnectMs?: number | undefined;
}

/**
 * Connects to a session of a `pi-rpc host`, at `unix:PATH`, `ws://HOST:PORT` or `wss://HOST`: with `/sessions/ID` behind it
 * (`unix:PATH:/sessions/ID`) to one that is open, else to a new one. `/sessions/new?cwd=…&model=…&in_memory=true` says which.
 */
export function host(address: string, { token, ca, reconnectMs = 60_000 }: HostOptions = {}): Connect {
  const { url, path, socketPath } = parse(address);
  const options: ClientOptions = {
    ...(token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } }),
    ...(ca === undefined ? {} : { ca }),
    ...(socketPath === undefined ? {} : { createConnection: () => connectSocket(socketPath) }),
    maxPayload: LONGEST,
    handshakeTimeout: CONNECT_MS,
    perMessageDeflate: false,
  };
  const open: OpenSocket = (session, events) => opened(address, new WebSocket(url + session, CONTROL, options), events);
  return (receiver) => new HostSession(path, reconnectMs, open, receiver);
}

function opened(address: string, socket: WebSocket, events: SocketEvents): ReturnType<OpenSocket> {
  let failure: HostError | undefined;
  let isFinal = false;
  let isHeld = false;
  const ping = setInterval(() => socket.readyState === WebSocket.OPEN && socket.ping(), PING_MS);
  ping.unref();
  socket.on("open", () => isHeld && socket.pause());
  socket.on("message", (data, isBinary) => (isBinary ? events.control(String(data)) : events.text(String(data))));
  socket.on("error", (error) => (failure ??= new HostError(`${address}: ${reason(error)}`, { cause: error })));
  socket.on("unexpected-response", (request, response) => {
    let body = "";
    response.setEncoding("utf8").on("data", (text: string) => (body = (body + text).slice(0, REASON)));
    response.on("close", () => {
      failure = new HostRefusedError(address, response.statusCode ?? 0, errorOf(body) ?? response.statusMessage ?? "");
      // A host that is starting, or a proxy in front of one that is away, may accept later.
      isFinal = (response.statusCode ?? 0) < 500;
      request.destroy();
      socket.terminate();
    });
  });
  socket.on("close", (code, text) => {
    clearInterval(ping);
    events.closed({ code, reason: String(text), failure, isFinal });
  });
  return {
    send: (text) => socket.readyState === WebSocket.OPEN && socket.send(text),
    hold: (held) => {
      isHeld = held;
      if (socket.readyState !== WebSocket.OPEN) return;
      if (held) socket.pause();
      else socket.resume();
    },
    close: () => socket.close(),
  };
}

/** The address for `ws`, without the session; the path of the session; the Unix socket. */
function parse(address: string): { url: string; path: string; socketPath?: string } {
  const at = address.indexOf("/sessions/");
  const [place, path] = at < 0 ? [address, "/sessions/new"] : [address.slice(0, at), address.slice(at)];
  if (place.startsWith("unix:")) return { url: "ws://localhost", path, socketPath: place.slice(5).replace(/:$/, "") };
  if (/^wss?:\/\/[^/]+\/?$/.test(place)) return { url: place.replace(/\/$/, ""), path };
  throw new TypeError(`${address}: expected unix:PATH, ws://HOST:PORT or wss://HOST, and /sessions/ID for an open session`);
}

/** What an error says; one of several addresses has no text of its own. */
function reason(error: Error & { readonly code?: string; readonly errors?: readonly Error[] }): string {
  return error.message || (error.errors ?? []).map(({ message }) => message).join("; ") || (error.code ?? error.name);
}

/** The code of an error of the host. */
function errorOf(body: string): string | undefined {
  try {
    const { error } = JSON.parse(body) as { readonly error?: unknown };
    return typeof error === "string" ? error : undefined;
  } catch {
    return undefined;
  }
}
