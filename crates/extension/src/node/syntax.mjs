/**
 * What a JavaScript module imports and exports, and what it uses: enough to drop imports that only types had use for,
 * to tell the two module systems apart, and to give a module the names that it takes for granted.
 */
import { tokensOf } from "./tokens.mjs";

/**
 * @typedef {{ imported: string, local: string }} Binding `imported` is `*` for a namespace.
 * @typedef {{ start: number, end: number, specifier: string, text: string, bindings: Binding[], bare: boolean, attributes: string }} Import
 *   `text` is the specifier with its quotes; `bare` one without a clause; `attributes` what stands behind the specifier.
 * @typedef {{ specifier: string, names: string[] }} Reexport `names` has `*` for all.
 * @typedef {object} Syntax
 * @property {Import[]} imports
 * @property {Reexport[]} reexports
 * @property {Set<string>} exported Names that are exported here.
 * @property {boolean} exportsAll Some exported names are not to be seen here.
 * @property {boolean} isModule Something here is only allowed in a module.
 * @property {Set<string>} used Names that are used outside of imports.
 * @property {Set<string>} declared Names behind `const`, `let`, `var`, `function`, `class`, or in an import.
 */

/**
 * @param {string} source JavaScript, without types.
 * @returns {Syntax}
 */
export function syntaxOf(source) {
  const tokens = tokensOf(source);
  /** @type {Syntax} */
  const syntax = {
    imports: [],
    reexports: [],
    exported: new Set(),
    exportsAll: false,
    isModule: false,
    used: new Set(),
    declared: new Set(),
  };
  let depth = 0;
  let functions = 0;
  /** @type {boolean[]} For each open brace, whether it is a function's. */
  const braces = [];
  for (let at = 0; at < tokens.length; at += 1) {
    const token = tokens[at];
    const before = tokens[at - 1]?.text;
    const next = tokens[at + 1];
    if (token.kind === "mark" && "([{".includes(token.text)) depth += 1;
    if (token.kind === "mark" && ")]}".includes(token.text)) depth -= 1;
    if (token.text === "{" && token.kind === "mark") {
      const isFunction = before === ")" || before === "=>";
      braces.push(isFunction);
      if (isFunction) functions += 1;
    } else if (token.text === "}" && token.kind === "mark" && braces.pop()) functions -= 1;
    if (token.kind !== "name" || before === "." || before === "?.") continue;
    if (token.text === "import" && next?.text === ".") {
      if (tokens[at + 2]?.text === "meta") syntax.isModule = true;
      continue;
    }
    if (token.text === "import" && depth === 0 && next?.text !== "(" && next?.text !== ":") {
      const end = readImport(tokens, at, syntax);
      if (end > at) {
        at = end - 1;
        continue;
      }
    }
    if (token.text === "export" && depth === 0 && next?.text !== ":") {
      at = readExport(tokens, at, syntax) - 1;
      continue;
    }
    if (token.text === "await" && functions === 0 && next?.text !== ":" && before !== "async" && !arrowBehind(tokens, at))
      syntax.isModule = true;
    if (DECLARES.has(before ?? "")) syntax.declared.add(token.text);
    if (next?.text === ":" && next.kind === "mark" && (before === "{" || before === ",")) continue;
    syntax.used.add(token.text);
  }
  return syntax;
}

const DECLARES = new Set(["const", "let", "var", "function", "class"]);

/** An arrow function without braces in the same statement may be what an `await` belongs to. */
function arrowBehind(tokens, at) {
  for (let back = at - 1; back >= 0; back -= 1) {
    if (tokens[back].text === "=>") return true;
    if (tokens[back].text === ";" || tokens[back].text === "}") return false;
  }
  return false;
}

/** Reads an import declaration; gives the index behind it, or `at` if it is none. */
function readImport(tokens, at, syntax) {
  /** @type {Binding[]} */
  const bindings = [];
  let index = at + 1;
  const bare = tokens[index]?.kind === "string";
  if (!bare) {
    for (; tokens[index] && tokens[index].text !== "from"; index += 1) {
      const token = tokens[index];
      if (token.text === "{") {
        index = readNames(tokens, index, bindings);
      } else if (token.text === "*") {
        bindings.push({ imported: "*", local: tokens[index + 2]?.text ?? "" });
        index += 2;
      } else if (token.kind === "name") {
        bindings.push({ imported: "default", local: token.text });
      } else if (token.text !== ",") {
        return at;
      }
    }
    index += 1;
  }
  const specifier = tokens[index];
  if (specifier?.kind !== "string") return at;
  let end = index + 1;
  if (tokens[end]?.text === "with" && tokens[end + 1]?.text === "{") {
    while (tokens[end] && tokens[end].text !== "}") end += 1;
    end += 1;
  }
  const attributes = tokens
    .slice(index + 1, end)
    .map((token) => token.text)
    .join(" ");
  if (tokens[end]?.text === ";") end += 1;
  syntax.isModule = true;
  for (const binding of bindings) syntax.declared.add(binding.local);
  syntax.imports.push({
    start: tokens[at].start,
    end: tokens[end - 1].end,
    specifier: unquoted(specifier.text),
    text: specifier.text,
    bindings,
    bare,
    attributes,
  });
  return end;
}

/** Reads `{ a, b as c }`; gives the index of the closing brace. */
function readNames(tokens, at, bindings) {
  let index = at + 1;
  while (tokens[index] && tokens[index].text !== "}") {
    const imported = nameOf(tokens[index]);
    const renamed = tokens[index + 1]?.text === "as";
    const local = renamed ? nameOf(tokens[index + 2]) : imported;
    bindings.push({ imported, local });
    index += renamed ? 3 : 1;
    if (tokens[index]?.text === ",") index += 1;
  }
  return index;
}

/** Reads what stands behind `export`; gives the index at which reading goes on. */
function readExport(tokens, at, syntax) {
  syntax.isModule = true;
  const next = tokens[at + 1];
  if (next?.text === "{") {
    /** @type {Binding[]} */
    const names = [];
    const end = readNames(tokens, at + 1, names) + 1;
    for (const name of names) syntax.exported.add(name.local);
    if (tokens[end]?.text === "from" && tokens[end + 1]?.kind === "string") {
      syntax.reexports.push({ specifier: unquoted(tokens[end + 1].text), names: names.map((name) => name.imported) });
      return end + 2;
    }
    for (const name of names) syntax.used.add(name.imported);
    return end;
  }
  if (next?.text === "*") {
    const named = tokens[at + 2]?.text === "as";
    if (named) syntax.exported.add(nameOf(tokens[at + 3]));
    else syntax.exportsAll = true;
    const specifier = tokens[at + (named ? 5 : 3)];
    if (specifier?.kind === "string") syntax.reexports.push({ specifier: unquoted(specifier.text), names: ["*"] });
    return at + (named ? 6 : 4);
  }
  if (next?.text === "default") {
    syntax.exported.add("default");
    return at + 2;
  }
  const word = ["async", "function", "*"].reduce((index, text) => (tokens[index]?.text === text ? index + 1 : index), at + 1);
  const declared = DECLARES.has(tokens[word]?.text ?? "") ? tokens[word + 1] : tokens[word];
  if (declared?.kind === "name") {
    syntax.exported.add(declared.text);
    // `export const a = 1, b = 2` has more names than the first.
    if (next?.text === "const" || next?.text === "let" || next?.text === "var") syntax.exportsAll ||= severalDeclared(tokens, word + 2);
  } else {
    syntax.exportsAll = true;
  }
  return at + 1;
}

function severalDeclared(tokens, at) {
  let depth = 0;
  for (let index = at; index < tokens.length; index += 1) {
    const { text, kind } = tokens[index];
    if (kind === "mark" && "([{".includes(text)) depth += 1;
    else if (kind === "mark" && ")]}".includes(text)) depth -= 1;
    else if (depth === 0 && text === ",") return true;
    else if (depth === 0 && (text === ";" || text === "export" || text === "import")) return false;
  }
  return false;
}

function nameOf(token) {
  return token?.kind === "string" ? unquoted(token.text) : (token?.text ?? "");
}

function unquoted(text) {
  return text.slice(1, -1).replace(/\\(.)/g, "$1");
}
