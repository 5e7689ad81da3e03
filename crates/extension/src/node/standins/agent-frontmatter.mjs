/** The head of a Markdown file, between two lines of dashes: as much of YAML as skills, prompts and agents use. */

/** @returns {{ frontmatter: Record<string, any>, body: string }} */
export function parseFrontmatter(content) {
  const text = content.replace(/^\uFEFF/, "").replace(/\r\n?/g, "\n");
  const end = text.startsWith("---") ? text.indexOf("\n---", 3) : -1;
  if (end < 0) return { frontmatter: {}, body: text };
  const lines = text
    .slice(4, end)
    .split("\n")
    .filter((line) => !/^\s*(#|$)/.test(line));
  const read = valueOf(lines, 0, 0);
  return { frontmatter: (read && typeof read.value === "object" && read.value) || {}, body: text.slice(end + 4).trim() };
}

export const stripFrontmatter = (content) => parseFrontmatter(content).body;

const indentOf = (line) => line.length - line.trimStart().length;
const KEY = /^("(?:[^"\\]|\\.)*"|'[^']*'|[^\s:#][^:]*?)\s*:(?:\s+(.*))?$/;

/** Reads what stands at an indentation: a list, a mapping, or a scalar. */
function valueOf(lines, at, indent) {
  const line = lines[at];
  if (line === undefined || indentOf(line) < indent) return { value: null, next: at };
  const own = indentOf(line);
  if (/^- |^-$/.test(line.trim())) return listOf(lines, at, own);
  if (KEY.test(line.trim())) return mappingOf(lines, at, own);
  return { value: scalar(line.trim()), next: at + 1 };
}

function listOf(lines, at, indent) {
  const list = [];
  let next = at;
  while (lines[next] !== undefined && indentOf(lines[next]) === indent && /^-( |$)/.test(lines[next].trim())) {
    const rest = lines[next].trim().slice(1).trim();
    if (rest && !KEY.test(rest)) {
      list.push(scalar(rest));
      next += 1;
      continue;
    }
    const inner = indent + 2;
    const item = rest ? [...lines.slice(0, next), " ".repeat(inner) + rest, ...lines.slice(next + 1)] : lines;
    const read = valueOf(item, rest ? next : next + 1, indent + 1);
    list.push(read.value);
    next = Math.max(read.next, next + 1);
  }
  return { value: list, next };
}

function mappingOf(lines, at, indent) {
  const mapping = {};
  let next = at;
  while (lines[next] !== undefined && indentOf(lines[next]) === indent) {
    const found = KEY.exec(lines[next].trim());
    if (!found) throw new Error(`front matter: expected "name: value", got ${JSON.stringify(lines[next].trim())}`);
    const [, name, rest = ""] = found;
    next += 1;
    let value;
    if (/^[|>][+-]?\d*$/.test(rest)) ({ value, next } = blockOf(lines, next, indent, rest));
    else if (rest && !rest.startsWith("#")) ({ value, next } = scalarOver(lines, next, indent, rest));
    else ({ value, next } = valueOf(lines, next, /^\s*-( |$)/.test(lines[next] ?? "") ? indent : indent + 1));
    Object.defineProperty(mapping, scalar(name), { value, enumerable: true, configurable: true, writable: true });
  }
  return { value: mapping, next };
}

function blockOf(lines, at, indent, style) {
  let next = at;
  while (lines[next] !== undefined && indentOf(lines[next]) > indent) next += 1;
  const inner = Math.min(...lines.slice(at, next).map(indentOf));
  const text = lines
    .slice(at, next)
    .map((line) => line.slice(inner))
    .join(style.startsWith("|") ? "\n" : " ");
  return { value: style.includes("-") || text === "" ? text : `${text}\n`, next };
}

/** A plain text may go on in lines that stand deeper. */
function scalarOver(lines, at, indent, first) {
  let next = at;
  let text = first;
  while (/^[^"'[{]/.test(first) && lines[next] !== undefined && indentOf(lines[next]) > indent) text += ` ${lines[next++].trim()}`;
  return { value: scalar(text), next };
}

function scalar(text) {
  if (text.startsWith('"')) {
    try {
      return JSON.parse(/^"(?:[^"\\]|\\.)*"/.exec(text)?.[0] ?? text);
    } catch {
      return text.slice(1, -1);
    }
  }
  if (text.startsWith("'")) return text.slice(1, text.lastIndexOf("'")).replaceAll("''", "'");
  const plain = text.replace(/\s+#.*$/, "");
  if (/^\[.*\]$/.test(plain))
    return plain
      .slice(1, -1)
      .split(/,(?=(?:[^"']|"[^"]*"|'[^']*')*$)/)
      .map((part) => part.trim())
      .filter(Boolean)
      .map(scalar);
  if (/^\{\s*\}$/.test(plain)) return {};
  if (/^(true|false)$/i.test(plain)) return plain.toLowerCase() === "true";
  if (/^(null|~)?$/i.test(plain)) return null;
  return /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(plain) ? Number(plain) : plain;
}
