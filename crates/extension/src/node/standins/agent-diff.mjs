/** How two texts differ, line by line: for people, and as a patch. */
import { bridge } from "./bridge.mjs";

/** Versions of pi that show all lines between two changes. */
const SHOW_BETWEEN = new Set(["0.52", "0.58"]);

/** @typedef {{ kind: "same" | "removed" | "added", lines: string[] }} Part */

/**
 * The lines that changed, each with its number, and some around them.
 * @param {string} before
 * @param {string} after
 * @param {number} [around] Lines that are shown before and behind a change.
 * @returns {{ diff: string, firstChangedLine: number | undefined }}
 */
export function generateDiffString(before, after, around = 4) {
  const parts = partsOf(before, after);
  const width = String(Math.max(before.split("\n").length, after.split("\n").length)).length;
  const numbered = (mark, number, line) => `${mark}${String(number).padStart(width)} ${line.replace(/\n$/, "")}`;
  const gap = ` ${" ".repeat(width)} ...`;
  const shown = [];
  let [old, made] = [1, 1];
  let firstChangedLine;
  parts.forEach(({ kind, lines }, at) => {
    if (kind !== "same") {
      firstChangedLine ??= made;
      for (const line of lines) shown.push(kind === "removed" ? numbered("-", old++, line) : numbered("+", made++, line));
      return;
    }
    const [leads, follows] = [at < parts.length - 1, at > 0];
    const head = follows ? around : 0;
    const tail = leads ? around : 0;
    const whole = lines.length <= head + tail || (leads && follows && SHOW_BETWEEN.has(bridge().api));
    lines.forEach((line, index) => {
      if (parts.length > 1 && (whole || index < head || index >= lines.length - tail)) shown.push(numbered(" ", old, line));
      else if (parts.length > 1 && index === head) shown.push(gap);
      old += 1;
      made += 1;
    });
  });
  return { diff: shown.join("\n"), firstChangedLine };
}

/**
 * The difference as `patch` takes it.
 * @param {string} file The name in the head.
 * @param {string} before
 * @param {string} after
 * @param {number} [around] Lines of context.
 * @returns {string}
 */
export function generateUnifiedPatch(file, before, after, around = 4) {
  const lines = partsOf(before, after).flatMap((part) => part.lines.map((line) => ({ kind: part.kind, line })));
  const isNear = lines.map((_, at) => lines.slice(Math.max(0, at - around), at + around + 1).some(({ kind }) => kind !== "same"));
  let text = `--- ${file}\n+++ ${file}\n`;
  let [old, made] = [0, 0];
  for (let at = 0; at < lines.length; ) {
    if (!isNear[at]) {
      old += 1;
      made += 1;
      at += 1;
      continue;
    }
    let body = "";
    const [fromOld, fromMade] = [old, made];
    for (; isNear[at]; at += 1) {
      const { kind, line } = lines[at];
      if (kind !== "added") old += 1;
      if (kind !== "removed") made += 1;
      body += `${{ same: " ", removed: "-", added: "+" }[kind]}${line}${line.endsWith("\n") ? "" : "\n\\ No newline at end of file\n"}`;
    }
    const range = (from, to) => `${from + (to > from ? 1 : 0)},${to - from}`;
    text += `@@ -${range(fromOld, old)} +${range(fromMade, made)} @@\n${body}`;
  }
  return text;
}

/** @returns {Part[]} The shortest way from one text to the other; what is removed comes before what is added. */
function partsOf(before, after) {
  const [old, made] = [linesOf(before), linesOf(after)];
  let start = 0;
  while (start < old.length && start < made.length && old[start] === made[start]) start += 1;
  let end = 0;
  while (end < old.length - start && end < made.length - start && old.at(-1 - end) === made.at(-1 - end)) end += 1;
  /** @type {Part[]} */
  const parts = [];
  const add = (kind, lines) => {
    if (lines.length === 0) return;
    if (parts.at(-1)?.kind === kind) parts.at(-1)?.lines.push(...lines);
    else parts.push({ kind, lines: [...lines] });
  };
  add("same", old.slice(0, start));
  let [removed, added] = [[], []];
  for (const { kind, line } of middle(old.slice(start, old.length - end), made.slice(start, made.length - end))) {
    if (kind === "removed") removed.push(line);
    else if (kind === "added") added.push(line);
    else {
      add("removed", removed);
      add("added", added);
      [removed, added] = [[], []];
      add("same", [line]);
    }
  }
  add("removed", removed);
  add("added", added);
  add("same", old.slice(old.length - end));
  return parts;
}

/** Myers' way through two lists of lines. */
function middle(old, made) {
  const most = old.length + made.length;
  const reached = new Map([[1, 0]]);
  const trace = [];
  const goesDown = (known, diagonal, steps) =>
    diagonal === -steps || (diagonal !== steps && (known.get(diagonal - 1) ?? -1) < (known.get(diagonal + 1) ?? -1));
  search: for (let steps = 0; steps <= most; steps += 1) {
    trace.push(new Map(reached));
    for (let diagonal = -steps; diagonal <= steps; diagonal += 2) {
      let x = goesDown(reached, diagonal, steps) ? (reached.get(diagonal + 1) ?? 0) : (reached.get(diagonal - 1) ?? 0) + 1;
      while (x < old.length && x - diagonal < made.length && old[x] === made[x - diagonal]) x += 1;
      reached.set(diagonal, x);
      if (x >= old.length && x - diagonal >= made.length) break search;
    }
  }
  const way = [];
  let [x, y] = [old.length, made.length];
  for (let steps = trace.length - 1; steps >= 0; steps -= 1) {
    const known = trace[steps];
    const diagonal = x - y;
    const from = goesDown(known, diagonal, steps) ? diagonal + 1 : diagonal - 1;
    const fromX = known.get(from) ?? 0;
    while (x > Math.max(fromX, 0) && y > Math.max(fromX - from, 0) && old[x - 1] === made[y - 1]) {
      way.push({ kind: "same", line: old[(x -= 1)] });
      y -= 1;
    }
    if (steps === 0) break;
    if (from > diagonal) way.push({ kind: "added", line: made[(y -= 1)] });
    else way.push({ kind: "removed", line: old[(x -= 1)] });
  }
  return way.reverse();
}

/** Lines with their ends. */
const linesOf = (text) => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
