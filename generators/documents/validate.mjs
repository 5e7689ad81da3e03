// Validates documents with the parsers of their makers: `validate.mjs FILE...`. Prints a line for each problem and exits with 1
// if there is one.
import { Parser } from "@asyncapi/parser";
import { BaseResolver, createConfig, lintDocument, makeDocumentFromString } from "@redocly/openapi-core";
import { readFileSync } from "node:fs";

/** A newer version of AsyncAPI is no problem of a document of 3.0. */
const IGNORED = ["asyncapi-latest-version"];

async function asyncapi(text) {
  const { document, diagnostics } = await new Parser().parse(text);
  const problems = diagnostics.filter(({ code }) => !IGNORED.includes(code));
  const lines = problems.map(({ code, message, path }) => `${path.join("/")}: ${code}: ${message}`);
  return document === undefined && lines.length === 0 ? ["it is no document"] : lines;
}

async function openapi(text, file) {
  const config = await createConfig({ extends: ["spec"] });
  const externalRefResolver = new BaseResolver(config.resolve);
  const document = makeDocumentFromString(text, file);
  const problems = await lintDocument({ document, externalRefResolver, config });
  return problems.map(({ ruleId, message, location }) => `${location[0]?.pointer}: ${ruleId}: ${message}`);
}

for (const file of process.argv.slice(2)) {
  const text = readFileSync(file, "utf8");
  const problems = "asyncapi" in JSON.parse(text) ? await asyncapi(text) : await openapi(text, file);
  for (const problem of problems) {
    console.error(`${file}: ${problem}`);
    process.exitCode = 1;
  }
}
