/** What the built-in tools are for, and their arguments, in the server's words. Extensions take them over when they put themselves before a tool. */
import { bridge } from "./bridge.mjs";
import { Type } from "./typebox.mjs";

const optional = (schema) => Type.Optional(schema);
const file = () => Type.String({ description: "The file, absolute or relative to the working directory" });
const texts = {
  oldText: Type.String({ description: "The text to replace, as it stands in the file" }),
  newText: Type.String({ description: "The text to put there" }),
};

const SPECS = {
  read: {
    description:
      "Show a file. Text comes from the start of the file, or from `offset`, up to 2000 lines or 50KB, whichever is less; the result says how to go on when there is more. PNG, JPEG, GIF and WebP files come as images, large ones scaled down.",
    parameters: () => ({
      path: file(),
      offset: optional(Type.Number({ description: "The line to start from; the first is 1" })),
      limit: optional(Type.Number({ description: "How many lines at most" })),
    }),
  },
  bash: {
    description:
      "Run a shell command in the working directory and get its output, stdout and stderr together. Of long output only the end is given, up to 50KB, and the path of a file with all of it. There is no input. A time limit can be set.",
    parameters: () => ({
      command: Type.String({ description: "The command, as bash understands it" }),
      timeout: optional(Type.Number({ description: "End the command after so many seconds" })),
    }),
  },
  edit: {
    description:
      "Change one or more places in a text file, all in one call: each `oldText`, which must be there exactly once, becomes its `newText`. Copy `oldText` from the file as it is, blanks and line ends included, with enough around it to be unique. The places must not overlap.",
    parameters: () =>
      ["0.52", "0.58"].includes(bridge().api)
        ? { path: file(), ...texts }
        : {
            path: file(),
            edits: Type.Array(Type.Object(texts), {
              description: "The replacements; each is looked for in the file as it was before the call",
            }),
          },
  },
  write: {
    description:
      "Make a file with this content. A file that is already there is replaced as a whole; directories that are missing are made.",
    parameters: () => ({ path: file(), content: Type.String({ description: "Everything that is to be in the file" }) }),
  },
  grep: {
    description:
      "Search files for a regular expression or a plain text, line by line. Each hit comes as path, line number and line. Hidden files are searched; what .gitignore excludes and binary files are not. At most 100 hits, unless you set another limit, and 50KB; lines are cut at 500 characters.",
    parameters: () => ({
      pattern: Type.String({ description: "What to search for: a regular expression, or with `literal` a plain text" }),
      path: optional(Type.String({ description: "The directory or file to search; without one, the working directory" })),
      glob: optional(Type.String({ description: "Search only files that fit this glob, such as `*.rs` or `src/**/*.rs`" })),
      ignoreCase: optional(Type.Boolean({ description: "Whether capital and small letters are the same; without it, they differ" })),
      literal: optional(Type.Boolean({ description: "Whether the pattern is a plain text; without it, it is a regular expression" })),
      context: optional(Type.Number({ description: "How many lines to show before and after each hit; without it, none" })),
      limit: optional(Type.Number({ description: "How many hits at most; without one, 100" })),
    }),
  },
  find: {
    description:
      "List the files and directories whose names fit a glob pattern, with paths relative to where the search starts, directories with a slash at the end. Hidden ones are included, what .gitignore excludes is not. At most 1000 paths, unless you set another limit, and 50KB.",
    parameters: () => ({
      pattern: Type.String({ description: "The glob: `*.rs` fits names anywhere, `src/**/*.rs` fits paths" }),
      path: optional(Type.String({ description: "The directory to search; without one, the working directory" })),
      limit: optional(Type.Number({ description: "How many paths at most; without one, 1000" })),
    }),
  },
  ls: {
    description:
      "List a directory: names in alphabetical order, hidden ones included, directories with a slash at the end. At most 500 names, unless you set another limit, and 50KB.",
    parameters: () => ({
      path: optional(Type.String({ description: "The directory; without one, the working directory" })),
      limit: optional(Type.Number({ description: "How many names at most; without one, 500" })),
    }),
  },
};

/**
 * @param {keyof typeof SPECS} name
 * @returns {{ name: string, label: string, description: string, parameters: any }}
 */
export function specOf(name) {
  const { description, parameters } = SPECS[name];
  return { name, label: name, description, parameters: Type.Object(parameters()) };
}
