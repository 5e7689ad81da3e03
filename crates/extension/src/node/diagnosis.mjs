/** Where a module is no program: Node tells the place for scripts only. */
import * as vm from "node:vm";
import { syntaxOf } from "./syntax.mjs";

/**
 * @param {SyntaxError} error What Node says of a module.
 * @param {string} file The module's file.
 * @param {string} code What Node was given of it.
 * @returns {SyntaxError} The same, with the file and, if it can be found, the line.
 */
export function withPlace(error, file, code) {
  const line = lineOf(scriptOf(code), error.message);
  const located = new SyntaxError(`${file}${line ? `:${line}` : ""}: ${error.message}`);
  located.stack = `SyntaxError: ${located.message}`;
  return located;
}

/** The module as a script with the same lines: without imports and exports. */
function scriptOf(code) {
  let script = code;
  for (const { start, end } of syntaxOf(code).imports)
    script = script.slice(0, start) + script.slice(start, end).replace(/[^\n]/g, " ") + script.slice(end);
  script = script
    .replace(/\bexport\s+default\b/g, ";0,")
    .replace(/\bexport\s*\{[^}]*\}(\s*from\s*(["']).*?\2)?/g, (text) => text.replace(/[^\n]/g, " "))
    .replace(/\bexport\b(?!\s*[*:=.])/g, "");
  return `"use strict";async()=>{${script}\n}`;
}

function lineOf(script, message) {
  try {
    return void new vm.Script(script, { filename: "module" });
  } catch (error) {
    const place = /^module:(\d+)\n/.exec(error.stack ?? "");
    return place && error.message === message ? Number(place[1]) : undefined;
  }
}
