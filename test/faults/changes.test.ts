import { expect, test } from "bun:test";
import { sleep } from "../harness/eventually.ts";
import { withTempDir } from "../harness/folder.ts";
import { runJson, runWell, startService } from "../harness/program.ts";
import { tried } from "../harness/trial.ts";
import { limitFor, roundsOf } from "./killed.ts";
import { addPartner, importTeachers } from "./register.ts";

/**
 * Changes what answers rest on while every serving thread is busy answering, and looks for answers that were older than a
 * change: asked after the command had ended, and answered as if it had not been.
 */
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

test(
  "no answer of four busy threads is older than a change that a command has made",
  tried("changes", (trial) =>
    withTempDir(async (dataDir) => {
      const register = { dataDir };
      await importTeachers(register, teachers);
      const service = await startService({ dataDir, args: ["--threads", "4", "--spread", "always"] });
      const apiKey = await addPartner(register, "asker", 100_000_000);
      const asked: Asked = { apiKey, calls: [], isOver: false };
      const running = Array.from({ length: callers }, () => askOnAndOn(asked, service.url));
      const other: string[] = [];
      for (let round = 0; round < roundsOf(1); round++)
        for (const { change, command, isNew, undo } of changes) {
          await sleep(askOnMs / 4);
          const told = await runJson<Record<string, unknown>>(command, register);
          trial.count("changes");
          const changedAt = performance.now();
          await sleep(askOnMs);
          const after = asked.calls.filter(({ askedAt }) => askedAt >= changedAt);
          expect([change, after.length > 0]).toEqual([change, true]);
          const others = after.filter((call) => !isNew(call, told));
          other.push(...others.map((call) => `${change}: ${JSON.stringify(call)}`));
          if (undo === undefined) continue;
          await runWell(undo, register);
          // What was undone is honoured within a second, and only what is answered anew counts from here on.
          while (!isAnswered(asked.calls.slice(-callers))) await sleep(5);
        }
      asked.isOver = true;
      await Promise.all(running);
      trial.count("answers", asked.calls.length);
      expect(other).toEqual([]);
      expect(await service.stop()).toBe(0);
    }),
  ),
  limitFor(60_000),
);

const isAnswered = (calls: readonly Call[]) => calls.every(({ status }) => status === 200);

/** The teacher whom everybody asks about. */
const reference = "TR/2020/LA/0";

const changes: readonly {
  readonly change: string;
  readonly command: readonly string[];
  isNew(call: Call, told: Record<string, unknown>): boolean;
  readonly undo?: readonly string[];
}[] = [
  {
    change: "revoke",
    command: ["teachers", "revoke", reference, "--reason", "under load"],
    isNew: ({ status, license }) => status === 200 && license === "REVOKED",
  },
  {
    change: "reinstate",
    command: ["teachers", "reinstate", reference, "--reason", "under load"],
    isNew: ({ status, license }) => status === 200 && license === "VALID",
  },
  {
    change: "rotate",
    command: ["keys", "rotate", "--now"],
    isNew: ({ status, kid }, { activeKid }) => status === 200 && kid === activeKid,
  },
  {
    change: "quota to zero",
    command: ["partners", "set", "asker", "--per-minute", "0"],
    isNew: ({ status }) => status === 429,
    undo: ["partners", "set", "asker", "--per-minute", "100000000"],
  },
  {
    change: "disable",
    command: ["partners", "disable", "asker"],
    isNew: ({ status }) => status === 401,
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
