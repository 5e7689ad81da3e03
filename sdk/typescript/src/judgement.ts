import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

/** Milliseconds for `pi-rpc check`. */
const TIME_LIMIT_MS = 120_000;

/** The hazard that breaks a SHOULD, and its rule: that of the server is no failure then. */
export const EARLY_EVENTS = "early-events";
const BENT = "ack-before-start";

/** A recording to judge. */
export interface Judged {
  readonly recording: string;
  /** Whether its server has the hazard that breaks a SHOULD. */
  readonly hasEarlyEvents: boolean;
}

const SIDES: Readonly<Record<string, string>> = { in: "client", out: "server" };

/** A client or its server has broken rules of the protocol, or nothing shows that they have kept them. */
export class BrokenRulesError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "BrokenRulesError";
    // The message says where: no line of this package is of use.
    this.stack = `${this.name}: ${message}`;
  }
}

/** The part of a report (`pi-rpc schema --format report`) that is shown. */
interface Report {
  readonly subjects: readonly Subject[];
}

interface Subject {
  readonly name: string;
  readonly outcome: string;
  readonly reason?: string | null;
  readonly findings: readonly Finding[];
}

interface Finding {
  readonly rule: string;
  readonly tier: string;
  readonly sentence: string;
  readonly count: number;
  readonly kind: string;
  readonly state: string;
  readonly expected: string;
  readonly difference?: { readonly pointer: string; readonly expected: string; readonly got: string } | null;
  readonly excerpt: readonly Quote[];
}

interface Quote {
  readonly record: number;
  readonly direction: string;
  readonly text: string;
  readonly marked: boolean;
  readonly cause?: boolean;
}

/** Judges both sides of recordings; throws a BrokenRulesError if a MUST or a SHOULD is broken, or if one cannot be judged. */
export async function judge(program: string, judged: readonly Judged[]): Promise<void> {
  if (judged.length === 0) return;
  const folder = await mkdtemp(join(tmpdir(), "pi-rpc-report-"));
  const file = join(folder, "report.json");
  const command = ["check", "--format", "json", "--report", file, ...judged.map(({ recording }) => recording)];
  try {
    await promisify(execFile)(program, command, { timeout: TIME_LIMIT_MS, maxBuffer: Infinity });
  } catch (failure) {
    const text = await readFile(file, "utf8").catch(() => undefined);
    if (text === undefined) throw failure;
    const { subjects } = JSON.parse(text) as Report;
    const wrong = subjects.flatMap((subject, at) => lines(subject, judged[at]?.hasEarlyEvents === true));
    if (wrong.length > 0) throw new BrokenRulesError(wrong.join("\n"));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** What is wrong in one recording. */
function lines({ name, outcome, reason, findings }: Subject, hasEarlyEvents: boolean): string[] {
  const broken = findings.filter(({ tier }) => tier !== "OBSERVED");
  const unexcused = broken.filter(({ rule }) => !hasEarlyEvents || rule !== BENT);
  if (outcome === "passed" || (outcome === "failed" && broken.length > 0 && unexcused.length === 0)) return [];
  const unjudged = typeof reason === "string" ? [`the conversation is not judged: ${reason}`] : [];
  return [...unexcused.flatMap(about), ...unjudged, `recording: ${name}`];
}

function about({ tier, rule, count, sentence, kind, state, expected, difference, excerpt }: Finding): string[] {
  // Without a pointer it says what the line above has said.
  const differs = !difference?.pointer ? [] : [`  ${difference.pointer}: expected ${difference.expected}, got ${difference.got}`];
  return [
    `${tier} ${rule}${count > 1 ? ` (${count} times)` : ""}: ${sentence}`,
    `  ${kind} while ${state}: ${expected}`,
    ...differs,
    ...excerpt.map(({ marked, cause, record, direction, text }) => {
      const mark = marked ? ">" : cause === true ? "*" : " ";
      return `  ${mark} ${record} ${SIDES[direction] ?? direction}: ${text}`;
    }),
  ];
}
