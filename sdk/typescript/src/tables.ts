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
  /** The commands. */
  readonly commands: readonly string[];
  /** What becomes of a command: of the rows that name the state, or no state at all, the first. */
  readonly outcomes: { readonly [command: string]: readonly Row[] };
  /** The state of a session: what tells it, and what changes it. */
  readonly session: SessionTables;
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

/** What becomes of a command in some states: the first outcome whose condition holds. */
export interface Row {
  /** The states; absent: all others. */
  readonly in?: readonly string[];
  readonly outcomes: readonly Outcome[];
}

/** What becomes of a command. */
export interface Outcome {
  readonly when?: Condition;
  /** `run`, `queue`, `preempt`, `noop`, `control` or `reject`. */
  readonly disposition: string;
  /** The words of the refusal; absent: it is taken. */
  readonly refusal?: string;
}

/** A condition on a member of a frame, or on what stands at a path. */
export interface Condition {
  readonly field: string;
  readonly is: readonly string[];
}

/** The state of a session: what tells it, and what changes it. */
export interface SessionTables {
  readonly members: { readonly [name: string]: Member };
  /** What the success of a command changes, by command. */
  readonly commands: { readonly [command: string]: readonly Effect[] };
  /** What an event changes, by its type. */
  readonly events: { readonly [event: string]: readonly Effect[] };
  /** The members that the success of a command tells, each with the path to its value. */
  readonly tells: { readonly [command: string]: { readonly [member: string]: string } };
  /** By state, what `isStreaming` is; a state that is not here leaves it open. */
  readonly streaming: { readonly [state: string]: boolean };
  /** The states in which `isCompacting` is true. */
  readonly compacting: readonly string[];
  readonly levels: LevelTables;
  /** What becomes a space in the name of a session. */
  readonly cleansName: string;
}

/** A member of the session's state. */
export interface Member {
  /** `value`, `list` or `sum`. */
  readonly kept: string;
  /** Its value is a list. */
  readonly isList?: boolean;
  /** It may have no value. */
  readonly absent?: boolean;
  /** A new process begins with its first value. */
  readonly fresh?: boolean;
}

/** What a frame changes of the session's state. */
export interface Effect {
  readonly when?: Condition;
  readonly effect: string;
  readonly members: readonly string[];
  /** The path to what the frame tells. */
  readonly value?: string;
  readonly in?: string;
  readonly code?: string;
}

/** The thinking levels of models. */
export interface LevelTables {
  /** Every level, from the lowest to the highest. */
  readonly all: readonly string[];
  /** Those that a model with a map has only if the map names them. */
  readonly extra: readonly string[];
  /** The level of a model that does not think; null: none. */
  readonly withoutThinking: string | null;
  /** Another model brings a level of its own. */
  readonly followsModel: boolean;
}
