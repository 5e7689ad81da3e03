/** A frame, as far as it is known before its type is. */
export type Frame = Readonly<Record<string, unknown>> & { readonly type: string };

/** What the runtime knows of a dialect: generated from `pi-rpc schema --format meta`, nothing is listed by hand. */
export interface Tables {
  /** Its name. */
  readonly dialect: string;
  /** The server says `ready` before anything else. */
  readonly saysReady: boolean;
  /** The server answers commands one by one, in order, but for those of `control`. */
  readonly serial: boolean;
  readonly control: readonly string[];
  /** The state of a session in which nothing goes on. */
  readonly idle: string;
  /** What leads from one state to another. */
  readonly steps: readonly Step[];
  /** The commands that some state refuses: what becomes of them, by state. */
  readonly refused: { readonly [command: string]: { readonly [state: string]: readonly Outcome[] } };
  /** The types of what the server says by itself. */
  readonly events: readonly string[];
  /** What extensions ask of the user, or show, and the member of the answer; null: none is expected. */
  readonly dialogs: { readonly [method: string]: string | null };
  /** A dialog with a timeout of 0 is over at once; else it never is. */
  readonly zeroTimeoutExpires: boolean;
  /** The server says when nothing follows by itself any more; else a run may begin from an idle session. */
  readonly settles: boolean;
}

export interface Step {
  readonly from: string;
  readonly to: string;
  /** The frames that do it, each alone. */
  readonly on: readonly Trigger[];
}

export interface Trigger {
  readonly type: string;
  /** What more holds of the frame; `role` and `stopReason` are the message's, `disposition` is the data's. */
  readonly where?: { readonly [member: string]: string | boolean };
}

/** What becomes of a command: the first outcome whose condition holds. */
export interface Outcome {
  readonly when?: { readonly field: string; readonly is: readonly string[] };
  /** The words of the refusal; absent: it is taken. */
  readonly refusal?: string;
}
