import { sleep } from "../harness/eventually.ts";
import { withTempDir } from "../harness/folder.ts";
import { runJson, runWell, startService } from "../harness/program.ts";
import { printFindings } from "./killed.ts";
import { addPartner, importTeachers, type Register } from "./register.ts";

/**
 * Changes what answers rest on while every serving thread is busy answering, and counts the answers that were older
 * than a change: asked after the command had ended, and answered as if it had not been. Run alone:
 * `bun test/faults/changes.ts ROUNDS THREADS`.
 */
export type ChangeFindings = {
  readonly rounds: number;
  readonly answered: number;
  /** Answers that were asked for after a change had ended, by the change. */
  readonly after: Readonly<Record<Change, number>>;
  /** Those of them that were older than the change. Everything here must be zero. */
  readonly older: Readonly<Record<Change, number>>;
  /** Answers that are neither what was before nor what is after. */
  readonly unexpected: readonly string[];
};

type Change = "revoke" | "reinstate" | "rotate" | "quota to zero" | "disable";

const callers = 24;
const teachers = 20;
/** How long the service is asked on after each change: several times as long as any memory of it may last. */
const askOnMs = 400;

type Call = {
  readonly askedAt: number;
  readonly status: number;
  readonly license: string;
  readonly kid: string;
};

type Asked = { readonly apiKey: string; readonly calls: Call[]; isOver: boolean };

export function changeUnderLoad(rounds: number, threads: number): Promise<ChangeFindings> {
  return withTempDir(async (dataDir) => {
    await importTeachers({ dataDir }, teachers);
    const service = await startService({ dataDir, args: ["--threads", String(threads)] });
    const findings = await changeWhileAsked({ register: { dataDir }, urls: [service.url], rounds });
    await service.stop();
    return findings;
  });
}

/** The same over services that run already, all of them asked, and a register that has the teachers. */
export async function changeWhileAsked({
  register,
  urls,
  rounds,
}: {
  register: Register;
  urls: readonly string[];
  rounds: number;
}): Promise<ChangeFindings> {
  const apiKey = await addPartner(register, "asker", 100_000_000);
  const asked: Asked = { apiKey, calls: [], isOver: false };
  const running = Array.from({ length: callers }, (_, n) => askOnAndOn(asked, urls[n % urls.length] ?? ""));
  const after = { revoke: 0, reinstate: 0, rotate: 0, "quota to zero": 0, disable: 0 };
  const older = { ...after };
  const unexpected: string[] = [];
  let answered = 0;
  for (let round = 0; round < rounds; round++) {
    for (const { change, command, isOlder, isNew, undo } of changes) {
      const first = asked.calls.length;
      await sleep(askOnMs / 4);
      const told = await runJson<Record<string, unknown>>(command, register);
      const changedAt = performance.now();
      await sleep(askOnMs);
      for (const call of asked.calls.slice(first)) {
        if (call.status === 200) answered++;
        if (call.askedAt < changedAt) continue;
        after[change]++;
        if (isNew(call, told)) continue;
        if (isOlder(call)) older[change]++;
        else unexpected.push(`${change}: ${JSON.stringify(call)}`);
      }
      if (undo !== undefined) await runWell(undo, register);
      // What was undone is honoured within a second, and only what is answered anew counts from here on.
      while (undo !== undefined && !isAnswered(asked.calls.slice(-callers))) await sleep(5);
    }
  }
  asked.isOver = true;
  await Promise.all(running);
  return { rounds, answered, after, older, unexpected };
}

const isAnswered = (calls: readonly Call[]) => calls.every(({ status }) => status === 200);

/** The teacher whom everybody asks about. */
const reference = "TR/2020/LA/0";

const changes: readonly {
  readonly change: Change;
  readonly command: readonly string[];
  isNew(call: Call, told: Record<string, unknown>): boolean;
  isOlder(call: Call): boolean;
  readonly undo?: readonly string[];
}[] = [
  {
    change: "revoke",
    command: ["teachers", "revoke", reference, "--reason", "under load"],
    isNew: ({ status, license }) => status === 200 && license === "REVOKED",
    isOlder: ({ license }) => license === "VALID",
  },
  {
    change: "reinstate",
    command: ["teachers", "reinstate", reference],
    isNew: ({ status, license }) => status === 200 && license === "VALID",
    isOlder: ({ license }) => license === "REVOKED",
  },
  {
    change: "rotate",
    command: ["keys", "rotate", "--now"],
    isNew: ({ status, kid }, { activeKid }) => status === 200 && kid === activeKid,
    isOlder: ({ status }) => status === 200,
  },
  {
    change: "quota to zero",
    command: ["partners", "set", "asker", "--per-minute", "0"],
    isNew: ({ status }) => status === 429,
    isOlder: ({ status }) => status === 200,
    undo: ["partners", "set", "asker", "--per-minute", "100000000"],
  },
  {
    change: "disable",
    command: ["partners", "disable", "asker"],
    isNew: ({ status }) => status === 401,
    isOlder: ({ status }) => status === 200,
    undo: ["partners", "enable", "asker"],
  },
];

async function askOnAndOn(asked: Asked, url: string): Promise<void> {
  while (!asked.isOver) {
    const call = await ask(url, asked.apiKey);
    asked.calls.push(call);
    // Who is refused at once would otherwise take the whole machine.
    if (call.status !== 200) await sleep(5);
  }
}

async function ask(url: string, apiKey: string): Promise<Call> {
  const askedAt = performance.now();
  const response = await fetch(`${url}/v1/inter-agency/eligibility-check`, {
    method: "POST",
    headers: { Authorization: `Bearer ${apiKey}` },
    body: JSON.stringify({ identifier: { tId: 1 }, purpose: "SCHOOL_EMPLOYMENT_VERIFICATION" }),
  });
  const body = (await response.json()) as { result?: { status?: string }; signatureKid?: string };
  return {
    askedAt,
    status: response.status,
    license: body.result?.status ?? "",
    kid: body.signatureKid ?? "",
  };
}

if (import.meta.main) {
  const [rounds = "10", threads = "2"] = process.argv.slice(2);
  printFindings(await changeUnderLoad(Number(rounds), Number(threads)));
}
