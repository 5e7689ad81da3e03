import { TimeoutError } from "./errors.js";

/** How long to wait. */
export interface WaitOptions {
  /** Milliseconds, after which a TimeoutError is thrown; absent: for ever, or as the client was told. */
  readonly timeoutMs?: number | undefined;
  /** Ends the waiting, with its reason. */
  readonly signal?: AbortSignal | undefined;
}

/** A promise with its two ends. */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (error: unknown) => void;
}

/** Makes one. That nobody waits for it when it fails is no fault. */
export function deferred<T>(): Deferred<T> {
  let resolve: Deferred<T>["resolve"] = () => {};
  let reject: Deferred<T>["reject"] = () => {};
  const promise = new Promise<T>((...ends) => ([resolve, reject] = ends));
  promise.catch(() => {});
  return { promise, resolve, reject };
}

/** `promise`, unless the time is over or the signal comes first. `what` is for the message. */
export async function within<T>(promise: Promise<T>, what: string, { timeoutMs, signal }: WaitOptions): Promise<T> {
  if (timeoutMs === undefined && signal === undefined) return promise;
  const broken = deferred<never>();
  const abort = () => broken.reject(signal?.reason);
  const timer =
    timeoutMs === undefined
      ? undefined
      : setTimeout(() => broken.reject(new TimeoutError(what, timeoutMs)), timeoutMs);
  signal?.addEventListener("abort", abort, { once: true });
  if (signal?.aborted === true) abort();
  try {
    return await Promise.race([promise, broken.promise]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  }
}

/** What comes of `promise`; undefined if that takes longer. */
export async function soon<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  const over = deferred<undefined>();
  const timer = setTimeout(over.resolve, ms, undefined);
  try {
    return await Promise.race([promise, over.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Does `work` within the same limits; its signal says that nobody waits for it any longer. */
export async function limited<T>(
  work: (signal: AbortSignal) => Promise<T>,
  what: string,
  options: WaitOptions,
): Promise<T> {
  const over = new AbortController();
  try {
    return await within(work(over.signal), what, options);
  } finally {
    over.abort();
  }
}
