/** What every error of this package is. */
export class ClientError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** The server refused a command, or failed to carry it out. */
export class RpcError extends ClientError {
  /** `command`: its type. `error`: the server's words. */
  constructor(
    readonly command: string,
    readonly error: string,
  ) {
    super(`${command}: ${error}`);
  }
}

/** A command that the server would refuse in the state that it is in; it was not sent. */
export class IllegalCommandError extends ClientError {
  /** `state`: of the session, as the protocol's chart names it. `reason`: the words of the refusal. */
  constructor(
    readonly command: string,
    readonly state: string,
    readonly reason: string,
  ) {
    super(`${command} is refused while the session is ${state}: ${reason}`);
  }
}

/** What was waited for did not come in time. Nothing was taken back: a command that was sent is carried out. */
export class TimeoutError extends ClientError {
  constructor(what: string, timeoutMs: number) {
    super(`${what}: nothing came within ${timeoutMs} ms`);
  }
}

/** How a server's process ended. */
export interface Exit {
  /** Its exit status; null where a signal ended it, or where it never began. */
  readonly code: number | null;
  /** The signal that ended it. */
  readonly signal: string | null;
  /** The last that it wrote to stderr, at most 8 KiB; where it never began: why. */
  readonly stderr: string;
}

/** The server's process has ended. */
export class ClosedError extends ClientError {
  constructor(
    what: string,
    readonly exit: Exit,
  ) {
    const how = exit.signal ?? (exit.code === null ? "it could not be started" : `status ${exit.code}`);
    super(`${what}: the server has ended (${how})${exit.stderr === "" ? "" : `:\n${exit.stderr.trimEnd()}`}`);
  }
}

/** The server wrote what cannot be part of the protocol; it was ended. */
export class ProtocolError extends ClientError {}

/** A subscription fell too far behind while calls had to be answered; events were dropped, so it ends here. */
export class LaggingError extends ClientError {}
