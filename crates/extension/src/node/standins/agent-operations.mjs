/** Built-in tools with operations of an extension's own: `readFile`, `exec` and the like, wherever they lead. */
import * as child from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { DEFAULT_MAX_BYTES, formatSize, truncateHead, truncateTail } from "./agent-truncate.mjs";

/** @typedef {{ args: any, cwd: string, options: any, signal?: AbortSignal, onUpdate?: (partial: any) => void }} Call */

const textResult = (text, details) => ({ content: [{ type: "text", text }], details });
const absolute = (cwd, file = ".") => path.resolve(cwd, file.replace(/^@/, "").replace(/^~(?=\/|$)/, os.homedir()));

/** @param {Call} call */
export async function readWith({ args, cwd, options: { operations }, signal }) {
  const file = absolute(cwd, args.path);
  signal?.throwIfAborted();
  await operations.access(file);
  const mimeType = await operations.detectImageMimeType?.(file);
  const bytes = Buffer.from(await operations.readFile(file));
  if (mimeType)
    return {
      content: [
        { type: "text", text: `Read image file [${mimeType}]` },
        { type: "image", data: bytes.toString("base64"), mimeType },
      ],
      details: undefined,
    };
  const lines = bytes.toString().split("\n");
  const first = Math.max(1, args.offset ?? 1);
  if (first > lines.length) throw new Error(`Offset ${first} is beyond end of file (${lines.length} lines total)`);
  const wanted = lines.slice(first - 1, args.limit === undefined ? undefined : first - 1 + args.limit);
  const truncation = truncateHead(wanted.join("\n"));
  if (truncation.firstLineExceedsLimit) {
    return textResult(`[Line ${first} is ${formatSize(Buffer.byteLength(wanted[0]))}, exceeds ${formatSize(DEFAULT_MAX_BYTES)} limit.]`, {
      truncation,
    });
  }
  const last = first + (truncation.truncated ? truncation.outputLines : wanted.length) - 1;
  const more = last < lines.length ? `\n\n[Showing lines ${first}-${last} of ${lines.length}. Use offset=${last + 1} to continue.]` : "";
  return textResult(truncation.content + more, truncation.truncated ? { truncation } : undefined);
}

/** @param {Call} call */
export function writeWith({ args, cwd, options: { operations }, signal }) {
  const file = absolute(cwd, args.path);
  return withFileMutationQueue(file, async () => {
    signal?.throwIfAborted();
    await operations.mkdir(path.dirname(file));
    await operations.writeFile(file, args.content);
    return textResult(`Successfully wrote ${Buffer.byteLength(args.content)} bytes to ${args.path}`, undefined);
  });
}

/** @param {Call} call */
export function editWith({ args, cwd, options: { operations }, signal }) {
  const file = absolute(cwd, args.path);
  return withFileMutationQueue(file, async () => {
    signal?.throwIfAborted();
    await operations.access(file);
    const before = Buffer.from(await operations.readFile(file)).toString();
    const edits = args.edits ?? [{ oldText: args.oldText, newText: args.newText }];
    const { after, changes } = edited(before, edits, args.path);
    await operations.writeFile(file, after);
    const count = edits.length === 1 ? "text" : `${edits.length} block(s)`;
    return textResult(`Successfully replaced ${count} in ${args.path}.`, {
      diff: changes.join("\n"),
      firstChangedLine: firstChangedLine(before, after),
    });
  });
}

function edited(before, edits, name) {
  const crlf = before.includes("\r\n");
  const text = before.replaceAll("\r\n", "\n");
  const places = edits.map(({ oldText, newText }) => {
    const wanted = oldText.replaceAll("\r\n", "\n");
    const at = text.indexOf(wanted);
    if (wanted === "" || at < 0)
      throw new Error(`Could not find the exact text in ${name}. The old text must match exactly including all whitespace and newlines.`);
    if (text.indexOf(wanted, at + 1) >= 0) throw new Error(`The text in ${name} must be unique: it occurs more than once.`);
    return { at, end: at + wanted.length, wanted, newText: newText.replaceAll("\r\n", "\n") };
  });
  places.sort((a, b) => a.at - b.at);
  let after = "";
  let end = 0;
  for (const place of places) {
    if (place.at < end) throw new Error(`The edits of ${name} overlap.`);
    after += text.slice(end, place.at) + place.newText;
    end = place.end;
  }
  after += text.slice(end);
  if (after === text) throw new Error(`No changes made to ${name}: the replacements equal the replaced text.`);
  const changes = places.flatMap(({ wanted, newText }) => [
    ...wanted.split("\n").map((line) => `-${line}`),
    ...newText.split("\n").map((line) => `+${line}`),
  ]);
  return { after: crlf ? after.replaceAll("\n", "\r\n") : after, changes };
}

function firstChangedLine(before, after) {
  const old = before.split("\n");
  return after.split("\n").findIndex((line, index) => line !== old[index]) + 1;
}

/** @param {Call} call */
export async function lsWith({ args, cwd, options: { operations } }) {
  const folder = absolute(cwd, args.path);
  if (!(await operations.exists(folder))) throw new Error(`Path not found: ${folder}`);
  if (!(await operations.stat(folder)).isDirectory()) throw new Error(`Not a directory: ${folder}`);
  const limit = args.limit ?? 500;
  const names = [...(await operations.readdir(folder))].sort((a, b) => a.toLowerCase().localeCompare(b.toLowerCase()));
  const shown = [];
  for (const name of names.slice(0, limit)) {
    const isFolder = await Promise.resolve(operations.stat(path.join(folder, name))).then(
      (stat) => stat.isDirectory(),
      () => undefined,
    );
    if (isFolder !== undefined) shown.push(isFolder ? `${name}/` : name);
  }
  if (shown.length === 0) return textResult("(empty directory)", undefined);
  const more = names.length > limit ? `\n\n[${limit} entries limit reached. Use limit=${limit * 2} for more]` : "";
  return textResult(truncateHead(shown.join("\n"), { maxLines: Infinity }).content + more, more ? { entryLimitReached: limit } : undefined);
}

/** @param {Call} call */
export async function findWith({ args, cwd, options: { operations } }) {
  const folder = absolute(cwd, args.path);
  if (!(await operations.exists(folder))) throw new Error(`Path not found: ${folder}`);
  const limit = args.limit ?? 1000;
  const found = await operations.glob(args.pattern, folder, { ignore: ["**/node_modules/**", "**/.git/**"], limit });
  if (found.length === 0) return textResult("No files found matching pattern", undefined);
  const shown = found.slice(0, limit).map((file) => (path.isAbsolute(file) ? path.relative(folder, file) : file));
  return textResult(
    truncateHead(shown.join("\n"), { maxLines: Infinity }).content,
    found.length >= limit ? { resultLimitReached: limit } : undefined,
  );
}

/** @param {Call} call */
export async function bashWith({ args, cwd, options: { operations, commandPrefix, spawnHook }, signal, onUpdate }) {
  const command = commandPrefix ? `${commandPrefix}\n${args.command}` : args.command;
  const wanted = spawnHook?.({ command, cwd, env: { ...process.env } }) ?? { command, cwd, env: process.env };
  /** @type {Buffer[]} */
  const parts = [];
  const soFar = () => truncateTail(Buffer.concat(parts).toString());
  const onData = (data) => {
    parts.push(Buffer.from(data));
    const { content } = soFar();
    onUpdate?.(textResult(content, undefined));
  };
  const ended = await operations
    .exec(wanted.command, wanted.cwd, { onData, signal, timeout: args.timeout, env: wanted.env })
    .catch((error) => ({ error }));
  const truncation = soFar();
  const output = truncation.content || (ended.error ? "" : "(no output)");
  const failure = failureOf(ended, args.timeout);
  if (failure) throw new Error([output, failure].filter(Boolean).join("\n\n"));
  return textResult(output, truncation.truncated ? { truncation } : undefined);
}

/** `exec` rejects with `aborted` or `timeout:SECONDS` where it ended the command itself. */
function failureOf({ exitCode, error }, timeout) {
  if (!error) return exitCode ? `Command exited with code ${exitCode}` : undefined;
  if (error.message === "aborted") return "Command aborted";
  return String(error.message).startsWith("timeout")
    ? `Command timed out after ${String(error.message).split(":")[1] ?? timeout} seconds`
    : String(error.message ?? error);
}

/** Commands on this machine, in a shell. The whole group ends when it is aborted or takes too long. */
export function createLocalBashOperations({ shellPath } = {}) {
  return {
    exec(command, cwd, { onData, signal, timeout, env } = {}) {
      return new Promise((resolve, reject) => {
        if (!fs.existsSync(cwd)) return reject(new Error(`Working directory does not exist: ${cwd}`));
        const { shell, args } = getShellConfig(shellPath);
        const running = child.spawn(shell, [...args, command], {
          cwd,
          env: env ?? process.env,
          detached: true,
          stdio: ["ignore", "pipe", "pipe"],
        });
        const kill = () => {
          try {
            process.kill(-running.pid, "SIGKILL");
          } catch {
            // It has ended by itself.
          }
        };
        let late = false;
        const timer = timeout > 0 ? setTimeout(() => ((late = true), kill()), timeout * 1000) : undefined;
        signal?.addEventListener("abort", kill, { once: true });
        if (signal?.aborted) kill();
        running.stdout.on("data", onData);
        running.stderr.on("data", onData);
        running.on("error", reject);
        running.on("close", (exitCode) => {
          clearTimeout(timer);
          signal?.removeEventListener("abort", kill);
          if (signal?.aborted) reject(new Error("aborted"));
          else if (late) reject(new Error(`timeout:${timeout}`));
          else resolve({ exitCode });
        });
      });
    },
  };
}

/** The shell that commands run in. */
export function getShellConfig(shellPath) {
  const shell = shellPath ?? ["/bin/bash", "/usr/bin/bash"].find((file) => fs.existsSync(file)) ?? "sh";
  return { shell, args: ["-c"] };
}

/** @type {Map<string, Promise<unknown>>} */
const queues = new Map();

/** Does one thing after another to the same file. */
export async function withFileMutationQueue(file, change) {
  let key = path.resolve(file);
  try {
    key = fs.realpathSync(key);
  } catch {
    // A file that is not there yet is known by its path.
  }
  const before = queues.get(key) ?? Promise.resolve();
  const done = before.then(() => change());
  const settled = done.then(
    () => {},
    () => {},
  );
  queues.set(key, settled);
  settled.then(() => {
    if (queues.get(key) === settled) queues.delete(key);
  });
  return done;
}
