// Writes the types of a dialect, each once: a dialect imports what another has alike, as the models of the Python SDK do.

// What a client meets; what extensions are told and may say is no part of it.
const ROOTS = ["Inbound", "Outbound", "SessionHeader", "SessionEntry", "CommandFrames", "EventFrames"];

const WIDTH = 120;

/** The dialects written so far: the file of each without `.ts`, and its declarations. */
const written = [];

/** The file `FILE.ts`: imports of what an earlier one declares, then its own; `text` is what `--format typescript` prints. */
export function types(file, text) {
  const [head, ...rest] = text.trimEnd().split(/\n\n(?=\/\*\*|export )/);
  const all = new Map(rest.map((declaration) => [/^export (?:type|interface) (\w+)/m.exec(declaration)[1], declaration]));
  const names = closure(ROOTS.filter((name) => all.has(name)), all);
  const declared = new Map([...all].filter(([name]) => names.has(name)));
  let own = [...declared.keys()];
  const imports = written.flatMap(([earlier, known]) => {
    const same = own.filter((name) => [...closure([name], declared)].every((it) => known.get(it) === declared.get(it)));
    own = own.filter((name) => !same.includes(name));
    return same.length === 0 ? [] : [imported(same.sort(), earlier)];
  });
  written.push([file, declared]);
  return [head, ...imports, ...own.map((name) => declared.get(name))].join("\n\n") + "\n";
}

/** The declarations that these are made of, and themselves. */
function closure(names, declared) {
  const found = new Set();
  const left = [...names];
  while (left.length > 0) {
    const name = left.pop();
    if (found.has(name)) continue;
    found.add(name);
    const code = declared.get(name).replace(/\/\*\*.*?\*\/|"[^"]*"/gs, "");
    left.push(...code.match(/\w+/g).filter((word) => declared.has(word)));
  }
  return found;
}

function imported(names, file) {
  return `import type {\n${filled(names)}\n} from "./${file}.js";\nexport type {\n${filled(names)}\n};`;
}

/** Names, as many on each line as fit. */
function filled(names) {
  const lines = [];
  for (const name of names) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + name.length + 2 <= WIDTH) lines[lines.length - 1] = `${last} ${name},`;
    else lines.push(`  ${name},`);
  }
  return lines.join("\n");
}
