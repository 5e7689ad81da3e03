/**
 * What removes types where Node cannot: a pi-rpc that is built with the feature `strip-types`, else a package that is installed: jiti,
 * amaro, esbuild or typescript, the first of these that is found. Nothing is looked for before a file needs it.
 *
 * Packages are those of the extension, of the agent's directory, of pi and of Node; never of the working directory: nobody may have
 * approved of a project's code.
 */
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import * as path from "node:path";
import { attempt, nativeRequire } from "./files.mjs";
import { hosts } from "./installation.mjs";
import { isStripOnly, placeOf, syntaxError } from "./typescript.mjs";

/**
 * @typedef {{ code: string, mapped: boolean } | { error: { message: string, line?: number } }} Outcome JavaScript, or the first syntax
 *   error. `mapped`: lines have moved, and a source map stands at the end of the code.
 */

/** The packages, in the order of preference. Each gives `undefined` in a version that cannot do it. */
const PACKAGES = { jiti: byJiti, amaro: byAmaro, esbuild: byEsbuild, typescript: byTypeScript };

/**
 * @param {string} source TypeScript.
 * @param {string} file Its path, absolute.
 * @param {import("./typescript.mjs").Lack} lack Why Node does not do it.
 * @param {string} agentDirectory The agent's own directory.
 * @returns {import("./typescript.mjs").Stripped}
 * @throws {SyntaxError} that names the file and the line.
 * @throws {Error} Where there is nothing that can; it says what to install.
 */
export function stripTypes(source, file, lack, agentDirectory) {
  const server = process.env.PI_RPC_TYPE_STRIPPER;
  const failures = [];
  const outcome = server ? byServer(server, source, file) : byPackage(source, file, agentDirectory, failures);
  if (!outcome) throw new Error(adviceFor(lack, agentDirectory, failures));
  if ("error" in outcome) throw syntaxError(outcome.error.message.trim(), outcome.error.line, file);
  return { text: outcome.code, mapped: outcome.mapped };
}

function adviceFor({ what, node }, agentDirectory, failures) {
  const names = "jiti, amaro, esbuild and typescript (before 7)";
  const advice = `Install ${node}, or one of the packages ${names} beside the extension, in ${agentDirectory} or globally, or a pi-rpc built with the feature strip-types.`;
  return [`${what}. ${advice}`, ...failures].join("\n");
}

/** @returns {Outcome} */
function byServer(program, source, file) {
  const { error, status, stdout, stderr } = spawnSync(program, ["strip-types", "--", file], {
    input: source,
    encoding: "utf8",
    maxBuffer: Infinity,
  });
  if (error || status !== 0) throw new Error(`${file}: ${program} strip-types: ${error?.message ?? (stderr.trim() || `exited with status ${status}`)}`);
  return JSON.parse(stdout);
}

/** @returns {Outcome | undefined} `undefined` where no package can; `failures` gets what is wrong with those that were found. */
function byPackage(source, file, agentDirectory, failures) {
  for (const [name, strip] of Object.entries(PACKAGES)) {
    for (const main of new Set(installed(name, file, agentDirectory))) {
      try {
        const outcome = strip(nativeRequire(main), source, file);
        if (outcome) return outcome;
        failures.push(`${main}: this version of ${name} cannot.`);
      } catch (error) {
        failures.push(`${main}: ${String(error?.message ?? error).split("\n")[0]}`);
      }
    }
  }
  return undefined;
}

/** The main files of a package: as the extension finds it (by `NODE_PATH`, too), in the agent's directory, below pi, among global packages. */
function* installed(name, file, agentDirectory) {
  const asFrom = (from) => attempt(() => createRequire(from).resolve(name));
  const globals = path.join(path.dirname(path.dirname(process.execPath)), "lib", "node_modules");
  yield* [
    asFrom(file),
    asFrom(path.join(agentDirectory, "npm", "package.json")),
    ...hosts(agentDirectory).map(({ folder }) => asFrom(path.join(folder, "package.json"))),
    attempt(() => nativeRequire.resolve(path.join(globals, name))),
  ].filter((found) => found !== undefined);
}

/** @returns {Outcome | undefined} */
function byJiti({ createJiti }, source, file) {
  if (typeof createJiti !== "function") return undefined;
  const jiti = createJiti(file, { fsCache: false, sourceMaps: false });
  const code = jiti.transform({ source, filename: file, ts: true, retainLines: true, babel: { plugins: [keepModule] } });
  const failed = /^exports\.__JITI_ERROR__ = (\{.*\})\s*$/s.exec(code);
  if (failed) return { error: JSON.parse(failed[1]) };
  return code.includes(`Object.defineProperty(exports, "__esModule"`) ? undefined : { code, mapped: false };
}

/**
 * A plugin of Babel. jiti makes CommonJS of every module; from its plugins, this one hides that there is a module.
 */
function keepModule() {
  const hidden = new Map();
  const hide = ({ node }) => {
    hidden.set(node, { ...node });
    for (const key of Object.keys(node)) if (!["start", "end", "loc"].includes(key)) delete node[key];
    Object.assign(node, { type: "Identifier", name: "__hidden" });
  };
  return {
    pre({ path: program }) {
      program.node.sourceType = "script";
      program.traverse({ Import: hide, MetaProperty: hide });
    },
    post() {
      for (const [node, original] of hidden) {
        delete node.name;
        Object.assign(node, original);
      }
      hidden.clear();
    },
  };
}

/** @returns {Outcome} */
function byAmaro({ transformSync }, source, file) {
  try {
    return { code: transformSync(source, { mode: "strip-only", filename: file }).code, mapped: false };
  } catch (error) {
    if (!isStripOnly(error)) return { error: amaroError(error, source) };
  }
  try {
    const { code, map } = transformSync(source, { mode: "transform", sourceMap: true, filename: file });
    const comment = `\n//# sourceMappingURL=data:application/json;base64,${Buffer.from(map).toString("base64")}`;
    return { code: code + comment, mapped: true };
  } catch (error) {
    return { error: amaroError(error, source) };
  }
}

/** A syntax error of amaro is a text or has a code, by its version; anything else is thrown again. */
function amaroError(error, source) {
  if (typeof error !== "string" && error?.code !== "InvalidSyntax" && error?.code !== "UnsupportedSyntax") throw error;
  return placeOf(error, source);
}

/** @returns {Outcome} */
function byEsbuild({ transformSync }, source, file) {
  try {
    const { code } = transformSync(source, {
      loader: file.endsWith(".tsx") ? "tsx" : "ts",
      sourcemap: "inline",
      sourcefile: file,
      target: "esnext",
      tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
    });
    return { code, mapped: true };
  } catch (error) {
    const first = error?.errors?.[0];
    if (!first) throw error;
    return { error: { message: first.text, line: first.location?.line } };
  }
}

/** @returns {Outcome | undefined} */
function byTypeScript(typescript, source, file) {
  const { transpileModule, flattenDiagnosticMessageText, DiagnosticCategory, JsxEmit, ModuleKind, ScriptTarget } = typescript;
  if (typeof transpileModule !== "function") return undefined;
  const { outputText, diagnostics = [] } = transpileModule(source, {
    fileName: file,
    reportDiagnostics: true,
    compilerOptions: {
      // Since 5.4: `import a = require("a")` becomes CommonJS, everything else stays.
      module: ModuleKind.Preserve ?? ModuleKind.ESNext,
      target: ScriptTarget.ESNext,
      verbatimModuleSyntax: true,
      inlineSourceMap: true,
      jsx: JsxEmit.React,
    },
  });
  const first = diagnostics.find(({ category }) => category === DiagnosticCategory.Error);
  if (!first) return { code: outputText, mapped: true };
  const line = first.file && first.start !== undefined ? first.file.getLineAndCharacterOfPosition(first.start).line + 1 : undefined;
  return { error: { message: flattenDiagnosticMessageText(first.messageText, " "), line } };
}
