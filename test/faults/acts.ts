import { chmodSync, cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runJson, runWell } from "../harness/command.ts";
import { attestCalls } from "../harness/evidence-log.ts";
import { csv, rows } from "../harness/imports.ts";

/** The environment variables of every command. */
export const issuer = { TVS_ISSUER: "https://verify.example.gov" };

/** A command that changes something, and what must hold after it fails. */
export type ChangingCommand = {
  readonly name: string;
  readonly words: readonly string[];
  /** Whether the command has one commit. A command with several commits continues when it is run again. */
  readonly isAtomic?: boolean;
  /** Tables that are not compared, because each run leaves rows there, even one that fails. */
  readonly leaves?: readonly string[];
  /** The folder of the command's register; `base` if undefined. */
  readonly over?: string;
  /** Commands that must succeed after it; by default `log checkpoint` and `log audit`. */
  readonly behind?: readonly string[];
};

/**
 * Makes the commands with their files and registers. In the register `base` no checkpoint covers the newest attestations;
 * `lost` lacks attestations that a checkpoint covers. Each command runs on a copy of a register, in `data`.
 */
export async function makeChangingCommands(folder: string): Promise<ChangingCommand[]> {
  const at = (name: string) => join(folder, name);
  const was = { dataDir: at("was"), env: issuer };
  const run = (line: string) => runWell(line.split(" "), was);
  await attestCalls(was.dataDir, 3);
  writeFileSync(at("first.csv"), csv(rows(40)));
  writeFileSync(at("list.csv"), csv(rows(8)));
  const changes = [...rows(30, { certificate_status: "CLAIMED" }), ...rows(60).slice(40)];
  writeFileSync(at("later.csv"), csv(changes));
  await run(`teachers import ${at("first.csv")} --baseline`);
  await run("partners add board --name Board --scopes all --purposes all --per-minute 10 --per-day 10");
  await run("partners webhook set board http://127.0.0.1:9/ --allow-private-webhooks");
  const { keyId } = await runJson<{ keyId: string }>(["partners", "key", "issue", "agency"], was);
  await run(`backup ${at("backup.db")}`);
  await run("teachers revoke TR/2019/LA/9 --reason x");
  const [{ kid = "" } = {}] = await runJson<{ kid: string }[]>(["keys", "list"], was);
  await attestCalls(was.dataDir, 2);
  // As a kill leaves the register: no checkpoint covers the newest answers.
  await attestCalls(was.dataDir, 3, () => cpSync(was.dataDir, at("base"), { recursive: true }));
  cpSync(at("base"), at("lost"), { recursive: true });
  for (const ending of ["", "-wal", "-shm"]) rmSync(at(`lost/tvs.db${ending}`), { force: true });
  cpSync(at("backup.db"), at("lost/tvs.db"));
  mkdirSync(at("none"));
  const acts: Record<string, Omit<ChangingCommand, "name" | "words">> = {
    "partners add other --name O --scopes all --purposes all --per-minute 10 --per-day 10": whole,
    "partners set board --per-day 11": whole,
    "partners disable board": whole,
    "partners key issue board": whole,
    [`partners key revoke ${keyId}`]: whole,
    "partners webhook rotate-secret board": whole,
    "partners webhook test board": whole,
    "partners webhook remove board": {},
    "teachers revoke TR/2019/LA/1 --reason x": whole,
    "teachers reinstate TR/2019/LA/9 --reason x": whole,
    "teachers deactivate TR/2019/LA/1 --reason x": whole,
    "teachers hide TR/2019/LA/1 --reason x": whole,
    [`teachers import ${at("later.csv")} --allow-change`]: { leaves: ["changes", "imports"] },
    "keys rotate --now": {},
    [`keys compromise ${kid} --since 2026-01-01`]: { leaves: logged },
    "log checkpoint": {},
    "log new --reason x": { leaves: begun },
    "log new --accept-loss --reason loss": { leaves: begun, over: "lost" },
    [`roster ${at("list.csv")} --purpose ${purpose} --statement --list-name A --out ${at("out/s.json")}`]: {
      leaves: ["attestations", "log_checkpoints", "log_positions", "quota_windows", "statement_people"],
    },
    [`backup ${at("out/new.db")}`]: { behind: [`backup verify ${at("out/new.db")}`] },
    [`restore ${at("backup.db")} --force`]: { leaves: begun },
    "init --issuer https://a.example --name A --contact-email a@a.example": {
      over: "none",
      leaves: ["settings"],
      behind: ["status"],
    },
  };
  return Object.entries(acts).map(([line, act]) => {
    const words = line.split(" ");
    const name = words
      .slice(0, 3)
      .filter((word) => /^[a-z-]+$/.test(word))
      .join(" ");
    return { name: act.over === "lost" ? `${name} over a loss` : name, words, ...act };
  });
}

const whole = { isAtomic: true, behind: [] } as const;
/** The tables with rows of a new log, which each run begins. */
const begun = ["changes", "log_checkpoints", "logs", "log_tiles", "log_positions"];
/** The tables with rows of a checkpoint: `keys compromise` succeeds even if it cannot sign one. */
const logged = ["log_checkpoints", "log_positions", "log_tiles"];
const purpose = "SCHOOL_EMPLOYMENT_VERIFICATION";

/** Copies a command's register into `data`. @returns the path of `data` */
export function copyRegister(folder: string, { over = "base" }: Pick<ChangingCommand, "over">): string {
  for (const name of ["data", "out"]) rmSync(join(folder, name), { recursive: true, force: true });
  mkdirSync(join(folder, "out"));
  cpSync(join(folder, over), join(folder, "data"), { recursive: true });
  chmodSync(join(folder, "data"), 0o700);
  return join(folder, "data");
}
