// Judges the frames of a folder with ajv; prints a verdict a line. A warning counts as an error.
const fs = require("node:fs");
const path = require("node:path");
const Ajv = require("ajv/dist/2020");

const folder = process.argv[2];
const read = (name) => fs.readFileSync(path.join(folder, name), "utf8");
const complain = (...words) => {
  throw new Error(words.join(" "));
};

const ajv = new Ajv({ strict: true, allErrors: true, logger: { log: complain, warn: complain, error: complain } });
// Not ajv's own `discriminator: true`, which knows neither tags that are booleans nor unions of unions.
ajv.addVocabulary(["discriminator"]);
ajv.addSchema(JSON.parse(read("schema.json")), "frames");
const validators = {
  Inbound: ajv.getSchema("frames#/$defs/Inbound"),
  Outbound: ajv.getSchema("frames#/$defs/Outbound"),
};

for (const line of read("frames.jsonl").trimEnd().split("\n")) {
  const { root, frame } = JSON.parse(line);
  const validate = validators[root];
  const errors = validate(frame) ? [] : validate.errors.map((error) => `${error.instancePath} ${error.message}`);
  console.log(JSON.stringify({ errors }));
}
