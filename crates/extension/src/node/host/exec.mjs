/** `pi.exec`: runs a program and returns its output. */
import { spawn } from "node:child_process";
import { constants } from "node:os";
import { StringDecoder } from "node:string_decoder";

/** Milliseconds between SIGTERM and SIGKILL. */
const GRACE = 5000;
/** Milliseconds for which output is read after the program has ended: its children may hold the pipes. */
const LINGER = 100;
/** Default limit of both outputs together, in bytes. */
const MAX_BUFFER = 256 * 1024 * 1024;

/**
 * @param {string} command
 * @param {string[]} args
 * @param {{ cwd: string, signal?: AbortSignal, timeout?: number, maxBuffer?: number, signalStatus?: boolean }} options
 *   Times in milliseconds, `maxBuffer` in bytes of both outputs together; `signalStatus`: the code of a program that a
 *   signal has ended is 128 plus its number, not 0.
 * @returns {Promise<{ stdout: string, stderr: string, code: number, killed: boolean, truncated: boolean }>}
 */
export function exec(command, args, { cwd, signal, timeout, maxBuffer = MAX_BUFFER, signalStatus = false }) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd, stdio: ["ignore", "pipe", "pipe"] });
    let killed = false;
    let room = maxBuffer;
    let truncated = false;
    let failure = "";
    let force;
    let linger;

    const kill = () => {
      if (killed) return;
      killed = true;
      child.kill("SIGTERM");
      force = setTimeout(() => child.kill("SIGKILL"), GRACE);
    };
    const collect = (stream) => {
      const decoder = new StringDecoder("utf8");
      const collected = { text: "", end: () => collected.text + (truncated ? "" : decoder.end()) };
      stream.on("data", (piece) => {
        linger?.refresh();
        if (truncated) return;
        truncated = piece.length > room;
        collected.text += decoder.write(piece.subarray(0, room));
        room -= piece.length;
        if (!truncated) return;
        child.stdout.destroy();
        child.stderr.destroy();
        kill();
      });
      return collected;
    };
    const stdout = collect(child.stdout);
    const stderr = collect(child.stderr);

    let over = false;
    const finish = (code) => {
      if (over) return;
      over = true;
      clearTimeout(force);
      clearTimeout(late);
      clearTimeout(linger);
      signal?.removeEventListener("abort", kill);
      child.stdout.destroy();
      child.stderr.destroy();
      resolve({
        stdout: stdout.end(),
        stderr: stderr.end() || failure,
        // Truncated output never counts as a success.
        code: truncated ? code || 1 : code,
        killed,
        truncated,
      });
    };
    const late = timeout > 0 ? setTimeout(kill, timeout) : undefined;
    child.on("error", (error) => {
      failure = error.message;
      finish(1);
    });
    // As shells report a signal; earlier versions of pi took it for a success.
    const status = (code, name) => code ?? (signalStatus ? 128 + (constants.signals[name] ?? 0) : 0);
    child.on("close", (code, name) => finish(status(code, name)));
    child.on("exit", (code, name) => {
      linger = setTimeout(() => finish(status(code, name)), LINGER);
    });
    if (signal?.aborted) kill();
    else signal?.addEventListener("abort", kill, { once: true });
  });
}
