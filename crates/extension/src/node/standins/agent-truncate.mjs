/** Limits of what a tool tells a model: so many lines, so many bytes, whichever is reached first. */
import { bridge } from "./bridge.mjs";

export const DEFAULT_MAX_LINES = 2000;
export const DEFAULT_MAX_BYTES = 50 * 1024;
const MAX_LINE = 500;

export function formatSize(bytes) {
  if (bytes < 1024) return `${bytes}B`;
  return bytes < 1024 * 1024 ? `${(bytes / 1024).toFixed(1)}KB` : `${(bytes / (1024 * 1024)).toFixed(1)}MB`;
}

/** Whole lines from the beginning. A first line that is too long leaves nothing. */
export function truncateHead(content, options = {}) {
  const { lines, limits } = measured(content, options);
  const whole = fits(content, lines, limits);
  if (whole) return whole;
  if (bytesOf(lines[0]) > limits.maxBytes) return result(lines, content, limits, { kept: [], by: "bytes", firstLineExceedsLimit: true });
  return result(lines, content, limits, collected(lines, limits));
}

/** Whole lines from the end. Of a last line that is too long, the end is kept. */
export function truncateTail(content, options = {}) {
  const { lines, limits } = measured(content, options);
  const whole = fits(content, lines, limits);
  if (whole) return whole;
  const { kept, by } = collected([...lines].reverse(), limits);
  if (kept.length > 0) return result(lines, content, limits, { kept: kept.reverse(), by });
  return result(lines, content, limits, {
    kept: [endOf(lines.at(-1) ?? "", limits.maxBytes)],
    by: limits.maxLines <= 1 ? "lines" : "bytes",
    lastLinePartial: true,
  });
}

/** A line for a list of hits. */
export function truncateLine(line, maxChars = MAX_LINE) {
  if (line.length <= maxChars) return { text: line, wasTruncated: false };
  return { text: `${line.slice(0, maxChars).replace(/[\ud800-\udbff]$/, "")}... [truncated]`, wasTruncated: true };
}

function measured(content, { maxLines = DEFAULT_MAX_LINES, maxBytes = DEFAULT_MAX_BYTES }) {
  // Older versions of pi count what stands behind the last line feed as a line.
  const counted = bridge().api === "1.5" ? content.replace(/\n$/, "") : content;
  const lines = content === "" && bridge().api === "1.5" ? [] : counted.split("\n");
  return { lines, limits: { maxLines, maxBytes } };
}

function fits(content, lines, limits) {
  if (lines.length > limits.maxLines || bytesOf(content) > limits.maxBytes) return undefined;
  return { ...result(lines, content, limits, { kept: lines, by: null }), content, truncated: false, outputBytes: bytesOf(content) };
}

function collected(lines, { maxLines, maxBytes }) {
  const kept = [];
  let bytes = 0;
  for (const line of lines) {
    bytes += bytesOf(line) + (kept.length > 0 ? 1 : 0);
    if (kept.length >= maxLines || bytes > maxBytes) break;
    kept.push(line);
  }
  return { kept, by: kept.length >= maxLines ? "lines" : "bytes" };
}

function result(lines, content, limits, { kept, by, lastLinePartial = false, firstLineExceedsLimit = false }) {
  const output = kept.join("\n");
  return {
    content: output,
    truncated: true,
    truncatedBy: by,
    totalLines: lines.length,
    totalBytes: bytesOf(content),
    outputLines: kept.length,
    outputBytes: bytesOf(output),
    lastLinePartial,
    firstLineExceedsLimit,
    ...limits,
  };
}

function endOf(line, maxBytes) {
  const bytes = Buffer.from(line);
  let start = Math.max(0, bytes.length - maxBytes);
  while (start < bytes.length && (bytes[start] & 0xc0) === 0x80) start += 1;
  return bytes.subarray(start).toString();
}

const bytesOf = (text) => Buffer.byteLength(text);
