/**
 * Splits JavaScript into tokens, as far as the loader needs them: names, punctuation, strings, and where they are.
 * Comments, numbers and regular expressions are passed over. It takes any text; what is not JavaScript gives tokens that make no sense.
 */

/** @typedef {{ kind: "name" | "mark" | "string" | "other", text: string, start: number, end: number }} Token */

/**
 * The tokens of a source.
 * @param {string} source JavaScript, without types.
 * @returns {Token[]} In order; a template is one `other` before each of its expressions, whose tokens follow, and one at its end.
 */
export function tokensOf(source) {
  /** @type {Token[]} */
  const tokens = [];
  /** @type {string[]} What is open: `(`, `if(` (a head that a statement follows), `[`, `{`, `${`. */
  const open = [];
  let closedHead = false;
  let at = source.startsWith("#!") ? endOfLine(source, 0) : 0;
  while (at < source.length) {
    const start = at;
    const c = source[at];
    if (isSpace(c)) {
      at += 1;
      continue;
    }
    if (c === "/" && source[at + 1] === "/") {
      at = endOfLine(source, at);
      continue;
    }
    if (c === "/" && source[at + 1] === "*") {
      const close = source.indexOf("*/", at + 2);
      at = close < 0 ? source.length : close + 2;
      continue;
    }
    let kind = /** @type {Token["kind"]} */ ("mark");
    if (startsName(source, at)) {
      kind = "name";
      at = endOfName(source, at);
    } else if (c === '"' || c === "'") {
      kind = "string";
      at = endOfString(source, at);
    } else if (c === "`" || (c === "}" && open.at(-1) === "${")) {
      kind = "other";
      if (c === "}") open.pop();
      at = endOfTemplatePart(source, at + 1);
      if (source[at - 1] === "{") open.push("${");
    } else if (isDigit(c) || (c === "." && isDigit(source[at + 1]))) {
      kind = "other";
      at = endOfNumber(source, at);
    } else if (c === "/" && regexMayFollow(tokens.at(-1), closedHead)) {
      kind = "other";
      at = endOfRegex(source, at);
    } else {
      at += markLength(source, at);
      if (c === "(") open.push(HEADS.has(tokens.at(-1)?.text ?? "") ? "if(" : "(");
      else if (c === "[" || c === "{") open.push(c);
      else if (c === ")" || c === "]" || c === "}") closedHead = open.pop() === "if(";
    }
    tokens.push({ kind, text: source.slice(start, at), start, end: at });
  }
  return tokens;
}

const HEADS = new Set(["if", "while", "for", "with"]);
const BEFORE_REGEX = new Set([
  "return",
  "typeof",
  "case",
  "in",
  "of",
  "delete",
  "void",
  "throw",
  "new",
  "instanceof",
  "else",
  "do",
  "yield",
  "await",
  "default",
]);

/** A slash divides behind a value, and begins a regular expression everywhere else. */
function regexMayFollow(before, closedHead) {
  if (!before) return true;
  if (before.kind === "name") return BEFORE_REGEX.has(before.text);
  if (before.kind !== "mark") return false;
  if (before.text === ")") return closedHead;
  return !["]", "}", "++", "--"].includes(before.text);
}

function markLength(source, at) {
  if (source.startsWith("...", at)) return 3;
  const two = source.slice(at, at + 2);
  if (two === "?." && isDigit(source[at + 2])) return 1;
  return two === "?." || two === "=>" || two === "++" || two === "--" ? 2 : 1;
}

function endOfLine(source, at) {
  const end = source.indexOf("\n", at);
  return end < 0 ? source.length : end;
}

function endOfString(source, at) {
  const quote = source[at];
  let end = at + 1;
  while (end < source.length && source[end] !== quote && source[end] !== "\n") end += source[end] === "\\" ? 2 : 1;
  return Math.min(end + 1, source.length);
}

/** Behind the closing backtick, or behind the `${` of an expression. */
function endOfTemplatePart(source, at) {
  let end = at;
  while (end < source.length) {
    if (source[end] === "`") return end + 1;
    if (source[end] === "$" && source[end + 1] === "{") return end + 2;
    end += source[end] === "\\" ? 2 : 1;
  }
  return source.length;
}

function endOfRegex(source, at) {
  let end = at + 1;
  let inClass = false;
  while (end < source.length && source[end] !== "\n" && (inClass || source[end] !== "/")) {
    if (source[end] === "[") inClass = true;
    else if (source[end] === "]") inClass = false;
    end += source[end] === "\\" ? 2 : 1;
  }
  end += 1;
  while (end < source.length && /[a-z]/.test(source[end])) end += 1;
  return Math.min(end, source.length);
}

function endOfNumber(source, at) {
  let end = at + 1;
  while (
    end < source.length &&
    (/[\w.]/.test(source[end]) || (/[+-]/.test(source[end]) && /[eE]/.test(source[end - 1]) && source[at + 1] !== "x"))
  )
    end += 1;
  return end;
}

function startsName(source, at) {
  const c = source.charCodeAt(at);
  if (c < 128)
    return (c >= 97 && c <= 122) || (c >= 65 && c <= 90) || c === 95 || c === 36 || (c === 35 && /[\w$]/.test(source[at + 1] ?? ""));
  return /[\p{ID_Start}]/u.test(String.fromCodePoint(source.codePointAt(at) ?? 0));
}

function endOfName(source, at) {
  let end = at + 1;
  while (end < source.length) {
    const c = source.charCodeAt(end);
    const inside =
      c < 128 ? (c >= 97 && c <= 122) || (c >= 65 && c <= 90) || (c >= 48 && c <= 57) || c === 95 || c === 36 : !isSpace(source[end]);
    if (!inside) return end;
    end += 1;
  }
  return end;
}

function isSpace(c) {
  return c === " " || c === "\n" || c === "\t" || c === "\r" || (c > "\x7f" && /\s/.test(c));
}

function isDigit(c) {
  return c >= "0" && c <= "9";
}
