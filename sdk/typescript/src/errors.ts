/** Base class of the errors of this package. */
export class ClientError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** A command was refused or failed. */
export class RpcError extends ClientError {
  /** `command` is its type, `error` the error text of the server, `code` its kind, where the server names one. */
  constructor(
    readonly command: string,
    readonly error: string,
    readonly code?: string,
  ) {
    super(`${command}: ${error}`);
  }
}

/** A command was not sent, as the server would refuse it in its present state. */
export class IllegalCommandError extends ClientError {
  /** `state` is the state of the chart, `reason` the error text. */
  constructor(
    readonly command: string,
    readonly state: string,
    readonly reason: string,
  ) {
    super(`${command} is refused while the session is ${state}: ${reason}`);
  }
}

/** A time limit was reached. A sent command is not withdrawn. */
export class TimeoutError extends ClientError {
  constructor(what: string, timeoutMs: number) {
    super(`${what}: nothing came within ${timeoutMs} ms`);
  }
}

/** Exit of a server. */
export interface Exit {
  /** Exit status; null if a signal ended the process, or if it never started. */
  readonly code: number | null;
  /** Signal that ended the process. */
  readonly signal: string | null;
  /** End of stderr, at most 8 KiB; the reason if the process never started. */
  readonly stderr: string;
  /** Why there is no connection to a host; absent: there was one, or the server is a process. */
  readonly failure?: HostError | undefined;
}

/** There is no connection to a host: nobody listens there, or it could not be made again. */
export class HostError extends ClientError {}

/** A host has refused a connection, such as one without a token that it knows. */
export class HostRefusedError extends HostError {
  /** `status` is that of HTTP, 401 for a token that is missing or wrong; `reason` is the host's own word for it. */
  constructor(
    address: string,
    readonly status: number,
    readonly reason: string,
  ) {
    super(`${address}: the host has refused the connection (${status}): ${reason}`);
  }
}

/** The server has exited. */
export class ClosedError extends ClientError {
  constructor(
    what: string,
    readonly exit: Exit,
  ) {
    const how = exit.signal ?? (exit.code === null ? "it could not be started" : `status ${exit.code}`);
    super(`${what}: the server has ended (${how})${exit.stderr === "" ? "" : `:\n${exit.stderr.trimEnd()}`}`);
  }
}

/** The server wrote something outside of the protocol, and was ended. */
export class ProtocolError extends ClientError {}

/** A subscription fell too far behind while calls were open. Events were dropped, so it ends here. */
export class LaggingError extends ClientError {}
