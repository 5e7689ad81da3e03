// Runs the exported chart with XState and SCION: every frame that the machine takes for legal in a state is accepted and leads where
// the machine goes; every other is refused and leads nowhere. Arguments: files that tests/statecharts writes, one for each dialect.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { FORM_FAULTS, formErrors } from "./form.mjs";

// Packages lie in the folder that NODE_PATH names, which `import` does not read.
const require = createRequire(import.meta.url);
const { createMachine, initialTransition, transition } = require("xstate");
const { Statechart } = require("@scion-scxml/core");
const sax = require("@scion-scxml/sax");

/** The chart in XState: `send` returns whether the event was accepted, `at` the active leaves. */
class XState {
  constructor(config) {
    this.machine = createMachine(config);
    [this.snapshot] = initialTransition(this.machine);
  }
  reset(snapshot) {
    this.snapshot = snapshot;
  }
  save() {
    return this.snapshot;
  }
  send(type) {
    const accepted = this.snapshot.can({ type });
    [this.snapshot] = transition(this.machine, this.snapshot, { type });
    return accepted;
  }
  at() {
    const leaves = (value, path) =>
      typeof value === "string"
        ? [`${path}.${value}`]
        : Object.entries(value).flatMap(([name, inner]) => leaves(inner, path ? `${path}.${name}` : name));
    return leaves(this.snapshot.value, "").sort();
  }
}

/** The chart in SCION, from the SCXML document. */
class Scion {
  constructor(document) {
    this.model = scionModel(document);
    this.load({});
    this.chart.start();
  }
  load(options) {
    this.chart = new Statechart(this.model, options);
    this.chart.on("onTransition", () => (this.accepted = true));
  }
  reset(snapshot) {
    this.load({ snapshot: structuredClone(snapshot) });
  }
  save() {
    return this.chart.getSnapshot();
  }
  send(name) {
    this.accepted = false;
    this.chart.gen({ name });
    return this.accepted;
  }
  at() {
    return this.chart.getConfiguration().sort();
  }
}

/** The document as SCION's model: the elements with their attributes, no more. */
function scionModel(document) {
  const parser = sax.parser(true);
  const open = [{ states: [], transitions: [] }];
  parser.onerror = (error) => {
    throw error;
  };
  parser.onopentag = ({ name, attributes }) => {
    const parent = open.at(-1);
    const { event, target, ...rest } = attributes;
    const node = { ...rest, $type: name, states: [], transitions: [] };
    if (name === "transition") {
      parent.transitions.push(target ? { event, target } : { event });
    } else {
      parent.states.push(node);
    }
    open.push(node);
  };
  parser.onclosetag = () => open.pop();
  parser.write(document).close();
  const [{ xmlns, version, datamodel, ...root }] = open[0].states;
  return root;
}

/** The saved states of the chart with their leaves, by the leaf of the flow, each reached by legal events alone. */
function reached(chart, cells) {
  const found = new Map([[flow(chart), [chart.at(), chart.save()]]]);
  // States that are found meanwhile are visited, too.
  for (const [from, [, saved]] of found) {
    for (const { event, to } of cells.filter((cell) => cell.to && cell.from === from && !found.has(cell.to))) {
      chart.reset(saved);
      chart.send(event);
      if (flow(chart) === to) {
        found.set(to, [chart.at(), chart.save()]);
      }
    }
  }
  return found;
}

const flow = (chart) => chart.at().find((id) => id.startsWith("flow."));
const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);
let tried = 0;
const wrong = [];

function check(name, chart, { cells, paths }) {
  const start = chart.save();
  const states = reached(chart, cells);
  for (const { from, event, to } of cells) {
    tried += 1;
    if (!states.has(from)) {
      wrong.push(`${name}: no legal events lead to ${from}`);
      continue;
    }
    const [before, saved] = states.get(from);
    if (!same(before, chart.at())) {
      chart.reset(saved);
    }
    const accepted = chart.send(event);
    const is = accepted ? flow(chart) : null;
    if (is !== to || (!accepted && !same(before, chart.at()))) {
      wrong.push(`${name}: ${event} in ${from} leads to ${is}, not to ${to} (null: refused)`);
    }
  }
  for (const { events, at } of paths) {
    tried += 1;
    chart.reset(start);
    const accepted = events.every((event) => chart.send(event));
    if (!accepted || !at.every((id) => chart.at().includes(id))) {
      wrong.push(`${name}: ${events.join(", ")} leads to ${chart.at()}, not to ${at}`);
    }
  }
}

for (const file of process.argv.slice(2)) {
  const given = JSON.parse(readFileSync(file, "utf8"));
  wrong.push(...formErrors(given.scxml).map((error) => `${given.dialect}, SCXML: ${error}`));
  for (const [part, fault] of FORM_FAULTS) {
    const broken = given.scxml.replace(part, fault);
    if (broken === given.scxml || formErrors(broken).length === 0) wrong.push(`${given.dialect}, SCXML: ${fault} is not noticed`);
  }
  check(`${given.dialect}, XState`, new XState(given.xstate), given);
  check(`${given.dialect}, SCION`, new Scion(given.scxml), given);
}
console.log(`${tried} events tried`);
if (wrong.length > 0) {
  console.error(`${wrong.length} differ\n${wrong.slice(0, 40).join("\n")}`);
  process.exit(1);
}
