// Packs binaries for npm: one package for each system, with the binary, and the package `pi-rpc`, whose `bin` becomes that of the
// system that it is installed on.
//   node contrib/npm/pack.mjs OUT TARGET=BINARY ...
// TARGET is one of the targets of dist-workspace.toml. BINARY is built with `--features codemode,otlp,strip-types`: scripts, traces, and the older Node of some users.
// OUT gets a folder for each package: `npm pack OUT/pi-rpc`.
import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import systemsModule from "./systems.cjs";

const { systems } = systemsModule;
const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "../..");
const manifest = readFileSync(join(root, "Cargo.toml"), "utf8");
const [, version] = manifest.match(/^version = "(.*)"$/m);
const [, description] = manifest.match(/^description = "(.*)"$/m);
const shared = { version, description, license: "MIT OR Apache-2.0" };
const licences = ["LICENSE-MIT", "LICENSE-APACHE"];

const [out, ...given] = process.argv.slice(2);
if (!out || given.length === 0) throw new Error("expected OUT TARGET=BINARY ...");
for (const word of given) {
  const [target, binary] = word.split("=");
  const system = systems.find((system) => system.target === target);
  if (!system || !binary) throw new Error(`${word}: expected TARGET=BINARY, with one of ${systems.map((it) => it.target)}`);
  const folder = begin(system.package);
  copyFileSync(binary, join(folder, "pi-rpc"));
  chmodSync(join(folder, "pi-rpc"), 0o755);
  const { os, cpu, libc } = system;
  write(folder, { name: system.package, ...shared, os: [os], cpu: [cpu], ...(libc && { libc: [libc] }), files: ["pi-rpc"] });
}
const folder = begin("pi-rpc");
for (const file of ["install.cjs", "systems.cjs"]) copyFileSync(join(here, file), join(folder, file));
mkdirSync(join(folder, "bin"), { recursive: true });
copyFileSync(join(here, "wrapper.cjs"), join(folder, "bin", "pi-rpc"));
chmodSync(join(folder, "bin", "pi-rpc"), 0o755);
copyFileSync(join(here, "README.md"), join(folder, "README.md"));
write(folder, {
  name: "pi-rpc",
  ...shared,
  bin: { "pi-rpc": "bin/pi-rpc" },
  scripts: { postinstall: "node install.cjs" },
  engines: { node: ">=18" },
  files: ["bin", "install.cjs", "systems.cjs"],
  optionalDependencies: Object.fromEntries(systems.map((system) => [system.package, version])),
});

/** @param {string} name */
function begin(name) {
  const folder = join(out, name);
  mkdirSync(folder, { recursive: true });
  for (const licence of licences) copyFileSync(join(root, licence), join(folder, licence));
  return folder;
}

/**
 * @param {string} folder
 * @param {object} manifest
 */
function write(folder, manifest) {
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
}
