/** Keys as terminals send them: the old sequences, and those of the Kitty protocol and of xterm's `modifyOtherKeys`. */

const NAMED = [
  "escape",
  "esc",
  "enter",
  "return",
  "tab",
  "space",
  "backspace",
  "delete",
  "insert",
  "clear",
  "home",
  "end",
  "pageUp",
  "pageDown",
  "up",
  "down",
  "left",
  "right",
];
const SYMBOLS = {
  backtick: "`",
  hyphen: "-",
  equals: "=",
  leftbracket: "[",
  rightbracket: "]",
  backslash: "\\",
  semicolon: ";",
  quote: "'",
  comma: ",",
  period: ".",
  slash: "/",
  exclamation: "!",
  at: "@",
  hash: "#",
  dollar: "$",
  percent: "%",
  caret: "^",
  ampersand: "&",
  asterisk: "*",
  leftparen: "(",
  rightparen: ")",
  underscore: "_",
  plus: "+",
  pipe: "|",
  tilde: "~",
  leftbrace: "{",
  rightbrace: "}",
  colon: ":",
  lessthan: "<",
  greaterthan: ">",
  question: "?",
};
const MODIFIERS = ["ctrl", "shift", "alt", "super"];

/** Names of keys, and functions that add modifiers: `Key.escape`, `Key.ctrlShift("p")`. */
export const Key = Object.freeze({
  ...Object.fromEntries([...NAMED, ...Array.from({ length: 12 }, (_, n) => `f${n + 1}`)].map((name) => [name, name])),
  ...SYMBOLS,
  ...Object.fromEntries(
    combinations().map((mods) => [
      mods.map((mod, n) => (n === 0 ? mod : mod[0].toUpperCase() + mod.slice(1))).join(""),
      (key) => [...mods, key].join("+"),
    ]),
  ),
});

function combinations() {
  const pairs = MODIFIERS.flatMap((a) => MODIFIERS.filter((b) => b !== a).map((b) => [a, b]));
  return [...MODIFIERS.map((mod) => [mod]), ...pairs, ["ctrl", "shift", "alt"], ["ctrl", "shift", "super"]];
}

const SEQUENCES = {
  "\x1b": "escape",
  "\r": "enter",
  "\n": "enter",
  "\t": "tab",
  " ": "space",
  "\x7f": "backspace",
  "\b": "backspace",
  "\x1b[Z": "shift+tab",
  "\0": "ctrl+space",
  "\x1bOM": "enter",
  "\x1b\r": "alt+enter",
  "\x1b\x7f": "alt+backspace",
  "\x1b ": "alt+space",
  "\x1b\x1b": "ctrl+alt+[",
};
const LETTERS = { A: "up", B: "down", C: "right", D: "left", H: "home", F: "end", E: "clear", P: "f1", Q: "f2", R: "f3", S: "f4" };
const NUMBERS = {
  1: "home",
  2: "insert",
  3: "delete",
  4: "end",
  5: "pageUp",
  6: "pageDown",
  7: "home",
  8: "end",
  11: "f1",
  12: "f2",
  13: "f3",
  14: "f4",
  15: "f5",
  17: "f6",
  18: "f7",
  19: "f8",
  20: "f9",
  21: "f10",
  23: "f11",
  24: "f12",
};
const CODES = { 27: "escape", 13: "enter", 9: "tab", 32: "space", 127: "backspace", 8: "backspace", 57414: "enter" };

/** The key that was pressed, `ctrl+c`; `undefined` for what is none. */
export function parseKey(data) {
  // Old terminals send these for moving by words.
  if (data === "\x1bb" || data === "\x1bf") return data === "\x1bb" ? "alt+left" : "alt+right";
  return /^[A-Z]$/.test(data) ? data : parsed(data)?.key;
}

function parsed(data) {
  if (data in SEQUENCES) return { key: SEQUENCES[data], kind: 1 };
  const kitty = /^\x1b\[(\d+)(?::\d*)*(?:;(\d+)?(?::(\d))?(?:;[\d:]*)?)?u$/.exec(data);
  if (kitty) return keyed(CODES[kitty[1]] ?? String.fromCodePoint(Number(kitty[1])).toLowerCase(), kitty[2], kitty[3]);
  const other = /^\x1b\[27;(\d+);(\d+)~$/.exec(data);
  if (other) return keyed(CODES[other[2]] ?? String.fromCodePoint(Number(other[2])).toLowerCase(), other[1]);
  const number = /^\x1b\[(\d+)(?:;(\d+)(?::(\d))?)?~$/.exec(data);
  if (number && NUMBERS[number[1]]) return keyed(NUMBERS[number[1]], number[2], number[3]);
  const letter = /^\x1b(?:\[|O)(?:1;(\d+)(?::(\d))?)?([A-FHP-S])$/.exec(data);
  if (letter) return keyed(LETTERS[letter[3]], letter[1], letter[2]);
  if (/^[\x01-\x1a]$/.test(data)) return { key: `ctrl+${String.fromCharCode(data.charCodeAt(0) + 96)}`, kind: 1 };
  if (/^[\x1c-\x1f]$/.test(data)) return { key: `ctrl+${"\\]^-"[data.charCodeAt(0) - 28]}`, kind: 1 };
  if (/^\x1b[\x01-\x1a]$/.test(data)) return { key: `ctrl+alt+${String.fromCharCode(data.charCodeAt(1) + 96)}`, kind: 1 };
  if (/^\x1b[a-z\d]$/.test(data)) return { key: `alt+${data[1]}`, kind: 1 };
  if (/^[A-Z]$/.test(data)) return { key: `shift+${data.toLowerCase()}`, kind: 1 };
  return /^[!-~]$/.test(data) ? { key: data, kind: 1 } : undefined;
}

function keyed(key, modifier = "1", kind = "1") {
  const bits = Number(modifier || "1") - 1;
  const mods = [bits & 1 && "shift", bits & 4 && "ctrl", bits & 2 && "alt", bits & 8 && "super"].filter(Boolean);
  return { key: [...mods, key].join("+"), kind: Number(kind) };
}

/** Whether what a terminal sent is a key. */
export function matchesKey(data, keyId) {
  const wanted = canonical(keyId);
  if ([parsed(data)?.key, parseKey(data)].some((key) => key !== undefined && !/^[A-Z]$/.test(key) && canonical(key) === wanted))
    return true;
  // A terminal of old sends the same for some.
  return { "\t": "ctrl+i", "\r": "ctrl+m", "\n": "ctrl+j" }[data] === wanted || (data === keyId && [...data].length === 1);
}

function canonical(keyId) {
  const parts = keyId.toLowerCase().split("+");
  const key = keyId.endsWith("+") ? "+" : parts.at(-1);
  const name = { esc: "escape", return: "enter" }[key] ?? key;
  return [...MODIFIERS.filter((mod) => parts.slice(0, -1).includes(mod)), name].join("+");
}

export const isKeyRelease = (data) => parsed(data)?.kind === 3;
export const isKeyRepeat = (data) => parsed(data)?.kind === 2;

/** The character that a key of the Kitty protocol stands for. */
export function decodeKittyPrintable(data) {
  const kitty = /^\x1b\[(\d+)(?::(\d*))?(?::\d*)?(?:;([12])(?::[12])?)?(?:;[\d:]*)?u$/.exec(data);
  if (!kitty || CODES[kitty[1]]) return undefined;
  const code = kitty[3] === "2" && kitty[2] ? kitty[2] : kitty[1];
  return Number(code) >= 32 ? String.fromCodePoint(Number(code)) : undefined;
}

let kitty = false;
export const setKittyProtocolActive = (active) => void (kitty = active);
export const isKittyProtocolActive = () => kitty;
