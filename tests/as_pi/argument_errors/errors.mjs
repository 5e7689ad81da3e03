// Prints what pi-ai answers to calls with arguments that do not fit: a text for each case, or `null` where they do.
//
//   node errors.mjs <folder of pi-ai> <file of cases>

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [ai, file] = process.argv.slice(2);
const { validateToolArguments } = await import(pathToFileURL(join(ai, "dist", "utils", "validation.js")));

const text = ({ parameters, arguments: given }) => {
  try {
    validateToolArguments({ name: "own", parameters }, { name: "own", arguments: given });
    return null;
  } catch (error) {
    return error.message;
  }
};
const cases = Object.entries(JSON.parse(readFileSync(file, "utf8")));
console.log(JSON.stringify(Object.fromEntries(cases.map(([name, it]) => [name, text(it)])), null, 2));
