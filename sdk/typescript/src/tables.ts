import type { FrameLimits } from "./chunks.js";

/** Frame of unknown type. */
export type Frame = Readonly<Record<string, unknown>> & { readonly type: string };

/** Tables of a dialect for the runtime, generated from `pi-rpc schema --format meta`. */
export interface Tables {
  /** Name of the dialect. */
  readonly dialect: string;
  /** Whether the first frame of the server is `ready`. */
  readonly saysReady: boolean;
  /** Whether the server serves commands one by one, except for those of `control`. */
  readonly serial: boolean;
  readonly control: readonly string[];
  /** Limits of frames that may come in chunks; null: none does. */
  readonly frameLimits: FrameLimits | null;
  /** Idle state. */
  readonly idle: string;
  /** Transitions between states. */
  readonly steps: readonly Step[];
  /** Commands. */
  readonly commands: readonly string[];
  /** Dispositions of commands: the first row that names the state, or no state. */
  readonly outcomes: { readonly [command: string]: readonly Row[] };
  /** Members of the session state, with the responses that report them and the effects that change them. */
  readonly session: SessionTables;
  /** Types of events and UI requests. */
  readonly events: readonly string[];
  /** UI requests by method, with the member of the dialog response; null: a notice. */
  readonly dialogs: { readonly [method: string]: string | null };
  /** Whether a dialog with a timeout of 0 ends at once; else it has no limit. */
  readonly zeroTimeoutExpires: boolean;
  /** Whether the server reports when nothing follows by itself any more; else a run may start from an idle session. */
  readonly settles: boolean;
}

export interface Step {
  readonly from: string;
  readonly to: string;
  /** Frames that cause the transition. */
  readonly on: readonly Trigger[];
}

export interface Trigger {
  readonly type: string;
  /** Further conditions; `role` and `stopReason` are those of the message, `disposition` is that of the data. */
  readonly where?: { readonly [member: string]: string | boolean };
}

/** Disposition of a command in some states: the first outcome whose condition holds. */
export interface Row {
  /** States; absent: all others. */
  readonly in?: readonly string[];
  readonly outcomes: readonly Outcome[];
}

/** Disposition of a command. */
export interface Outcome {
  readonly when?: Condition;
  /** `run`, `queue`, `preempt`, `noop`, `control` or `reject`. */
  readonly disposition: string;
  /** Error text of the refusal; absent: the command is accepted. */
  readonly refusal?: string;
}

/** Condition on a member of a frame, or on the value at a path. */
export interface Condition {
  readonly field: string;
  readonly is: readonly string[];
}

/** Members of the session state, with the responses that report them and the effects that change them. */
export interface SessionTables {
  readonly members: { readonly [name: string]: Member };
  /** Effects of the success of a command, by command. */
  readonly commands: { readonly [command: string]: readonly Effect[] };
  /** Effects of an event, by type. */
  readonly events: { readonly [event: string]: readonly Effect[] };
  /** Members that the success of a command reports, each with the path to its value. */
  readonly tells: { readonly [command: string]: { readonly [member: string]: string } };
  /** Value of `isStreaming` by state; missing states leave it open. */
  readonly streaming: { readonly [state: string]: boolean };
  /** States in which `isCompacting` is true. */
  readonly compacting: readonly string[];
  readonly levels: LevelTables;
  /** Characters that become a space in the name of a session. */
  readonly cleansName: string;
}

/** Member of the session state. */
export interface Member {
  /** `value`, `list` or `sum`. */
  readonly kept: string;
  /** Whether the value is a list. */
  readonly isList?: boolean;
  /** Whether the member may have no value. */
  readonly absent?: boolean;
  /** Whether a new process starts with the first value. */
  readonly fresh?: boolean;
}

/** Effect of a frame on the session state. */
export interface Effect {
  readonly when?: Condition;
  readonly effect: string;
  readonly members: readonly string[];
  /** Path to the value in the frame. */
  readonly value?: string;
  readonly in?: string;
  readonly code?: string;
}

/** Thinking levels of models. */
export interface LevelTables {
  /** All levels, lowest first. */
  readonly all: readonly string[];
  /** Levels that a model with a map supports only if the map has them. */
  readonly extra: readonly string[];
  /** Level of a model that does not support thinking; null: none. */
  readonly withoutThinking: string | null;
  /** Whether selecting a model sets a level. */
  readonly followsModel: boolean;
}
