/** Text in columns of a terminal: escape sequences take none, East Asian characters and pictures two. */

const ESCAPES = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[_P^][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])/g;
const TAB = "   ";
const RESET = "\x1b[0m";
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\ufe0f/u;
const NONE = /^(?:\p{Mark}|\p{Control}|\p{Format})+$/u;
const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** @returns {string} Text without escape sequences. */
export const stripTerminalSequences = (text) => text.replace(ESCAPES, "");

/** @returns {number} The columns that a text takes. */
export function visibleWidth(text) {
  const plain = stripTerminalSequences(text).replaceAll("\t", TAB);
  if (/^[\x20-\x7e]*$/.test(plain)) return plain.length;
  let width = 0;
  for (const { segment } of segmenter.segment(plain)) width += widthOf(segment);
  return width;
}

function widthOf(character) {
  if (NONE.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}

/** Characters and escape sequences, in order. */
function* piecesOf(text) {
  let at = 0;
  for (const match of text.matchAll(ESCAPES)) {
    yield* charactersOf(text.slice(at, match.index));
    yield { text: match[0], width: 0, isEscape: true };
    at = match.index + match[0].length;
  }
  yield* charactersOf(text.slice(at));
}

function* charactersOf(text) {
  for (const { segment } of segmenter.segment(text.replaceAll("\t", TAB)))
    yield { text: segment, width: widthOf(segment), isEscape: false };
}

/** Cuts a text that takes more columns and ends it with an ellipsis; pads a shorter one on request. */
export function truncateToWidth(text, maxWidth, ellipsis = "...", pad = false) {
  const width = visibleWidth(text);
  if (width <= maxWidth) return pad ? text + " ".repeat(maxWidth - width) : text;
  const room = Math.max(0, maxWidth - visibleWidth(ellipsis));
  const end = visibleWidth(ellipsis) <= maxWidth ? ellipsis : sliceByColumn(ellipsis, 0, maxWidth);
  const kept = sliceByColumn(text, 0, room);
  const styled = kept.includes("\x1b") ? RESET : "";
  const made = kept + styled + end;
  return pad ? made + " ".repeat(Math.max(0, maxWidth - visibleWidth(made))) : made;
}

/** The columns from `start` on, with the escape sequences that hold there. */
export function sliceByColumn(text, start, length, strict = false) {
  let made = "";
  let column = 0;
  for (const piece of piecesOf(text)) {
    if (piece.isEscape) {
      if (column < start + length) made += piece.text;
    } else {
      const fits = column + piece.width <= start + length || !strict;
      if (column >= start && column < start + length && fits && column + piece.width <= start + length) made += piece.text;
      column += piece.width;
    }
  }
  return made;
}

/** Lines of at most `width` columns, broken between words; styles go on from line to line. */
export function wrapTextWithAnsi(text, width) {
  const lines = [];
  let style = "";
  for (const line of text.split("\n")) {
    const wrapped = wrapLine(style + line, Math.max(1, width));
    lines.push(...wrapped);
    style = styleAtEnd(wrapped.at(-1) ?? "");
  }
  return lines;
}

function wrapLine(line, width) {
  if (visibleWidth(line) <= width) return [line];
  const lines = [];
  let current = "";
  let used = 0;
  const next = () => {
    const style = styleAtEnd(current);
    lines.push(current.trimEnd());
    current = style;
    used = 0;
  };
  for (const { text, width: columns, isSpace } of wordsOf(line)) {
    if (used > 0 && used + columns > width) {
      next();
      if (isSpace) continue;
    }
    if (columns <= width) {
      current += text;
      used += columns;
      continue;
    }
    for (const piece of piecesOf(text)) {
      if (used + piece.width > width) next();
      current += piece.text;
      used += piece.width;
    }
  }
  lines.push(current);
  return lines;
}

function* wordsOf(line) {
  let word = { text: "", width: 0, isSpace: false };
  for (const piece of piecesOf(line)) {
    const isSpace = !piece.isEscape && /^\s+$/.test(piece.text);
    if (word.width > 0 && !piece.isEscape && isSpace !== word.isSpace) {
      yield word;
      word = { text: "", width: 0, isSpace };
    }
    word = { text: word.text + piece.text, width: word.width + piece.width, isSpace: piece.isEscape ? word.isSpace : isSpace };
  }
  if (word.text) yield word;
}

/** The styles that hold at the end of a line. */
function styleAtEnd(line) {
  const styles = line.match(/\x1b\[[\d;:]*m/g) ?? [];
  return styles.slice(styles.findLastIndex((style) => /^\x1b\[0?m$/.test(style)) + 1).join("");
}

/** Control characters as something that can be seen. */
export const replaceControlCharacters = (text, by = "\ufffd") => text.replace(/[\x00-\x08\x0b-\x1f\x7f]/g, by);

/** A link, for terminals that have them. */
export const hyperlink = (text, url) => `\x1b]8;;${url}\x1b\\${text}\x1b]8;;\x1b\\`;
