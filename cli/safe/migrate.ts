import { existsSync, readFileSync, realpathSync } from "node:fs";
import { dirname } from "node:path";
import words from "../../data/commands.json" with { type: "json" };
import {
  type Config,
  type Environment,
  hasUsualDatabase,
  logHeadFile,
  readConfig,
} from "../../src/config.ts";
import { systemClock } from "../../src/domain/clock.ts";
import { isTvsError, TvsError } from "../../src/domain/errors.ts";
import { deriveSecrets } from "../../src/domain/secrets.ts";
import type { Driver } from "../../src/store/driver/driver.ts";
import { cancelMove } from "../../src/store/move/cancel.ts";
import type { TableDigest } from "../../src/store/move/copy.ts";
import { moveRegister, requireFree, requireMovable } from "../../src/store/move/move.ts";
import { command, environmentOf, flag, option } from "../command.ts";
import { closing, openDriver } from "../open.ts";
import { hasDatabase, locationOf, noRegister, requireOwnFolder } from "../register/register.ts";
import { confirm, yesArg } from "../terminal/confirm.ts";
import { type Columns, listing, note, print, readable } from "../terminal/output.ts";
import { createBar } from "../terminal/progress.ts";
import { ensureDataDir } from "./vault.ts";

const toOption = "--to (TVS_TO)";

export const migrateCommand = command({
  ...words.migrate,
  args: { to: option("URL"), cancel: flag(), ...yesArg },
  async run({ args }) {
    const { data, database, sandbox, json } = args;
    const environment = environmentOf({ data, database, sandbox, json });
    const config = readConfig({ data, database, sandbox }, environment);
    const target = readTarget(args.to, environment, config);
    for (const one of target === null ? [config] : [config, target]) requireOwnFolder(one);
    if (!hasDatabase(config)) throw noRegister(config);
    if (target === null && args.cancel !== true)
      throw new TvsError("CONFIG_INVALID", `${toOption} is missing: file:PATH or the URL of a libSQL server`);
    if (target !== null) refuseSame(config, target);
    if (args.cancel === true) await cancel(args, config, target);
    else if (target !== null) await migrate(args, config, target);
  },
});

/**
 * What every command over the new place needs. Of a register on a server only the database is there.
 * @returns null when no place was told
 * @throws TvsError CONFIG_INVALID
 */
function readTarget(flag: string | undefined, environment: Environment, source: Config): Config | null {
  const to = flag ?? (environment.TVS_TO || undefined);
  if (to === undefined) return null;
  const told = { database: to, "database-token": environment.TVS_TO_TOKEN, sandbox: source.sandbox };
  try {
    const { database } = readConfig({ ...told, data: source.dataDir }, {});
    const data = dirname(database.kind === "file" ? database.file : source.masterKeyFile);
    return readConfig({ ...told, data }, {});
  } catch (error) {
    throw aboutTarget(error);
  }
}

/** A message about the database that `--to` names must name that option, and its token's own variable. */
function aboutTarget(error: unknown): unknown {
  if (!isTvsError(error)) return error;
  const named = error.message
    .replaceAll("--database-token (TVS_DATABASE_TOKEN)", "TVS_TO_TOKEN")
    .replaceAll("TVS_DATABASE_TOKEN", "TVS_TO_TOKEN")
    .replaceAll("--database (TVS_DATABASE)", toOption);
  return new TvsError(error.code, named, { cause: error });
}

type MigrateArgs = { json?: boolean | undefined; yes?: boolean | undefined };

/** Where a database is, written alike however it was given: it is compared, and stays in the marks of a move. */
function placeOf(config: Config): string {
  return config.database.kind === "file" ? `file:${config.database.file}` : locationOf(config);
}

function refuseSame(config: Config, target: Config): void {
  if (realPlaceOf(config) !== realPlaceOf(target)) return;
  throw new TvsError(
    "REFUSED",
    `the register is at ${placeOf(config)} already; --to must name another place`,
  );
}

function realPlaceOf(config: Config): string {
  const { database } = config;
  if (database.kind === "server") return placeOf(config).replace(/^libsql:/, "https:");
  return existsSync(database.file) ? realpathSync(database.file) : database.file;
}

async function migrate(args: MigrateArgs, config: Config, target: Config): Promise<void> {
  const startedAt = performance.now();
  const [from, to] = [placeOf(config), placeOf(target)];
  const tables = await closing(await openDriver(config), async (source) => {
    const movable = await requireMovable(source, { to, missing: noRegister(config) });
    refuseOtherMasterKey(target, movable.register);
    if (!hasDatabase(target)) ensureDataDir(target);
    return withTarget(target, async (driver) => {
      await requireFree(driver, { ...movable, from, to });
      // Over both passes: each row is copied, and read again on both sides.
      const bar = createBar({ label: "moving", unit: "rows" });
      const onProgress = (done: number, total: number) => bar.show(done, { total });
      const move = { source, target: driver, from, to, now: systemClock.now(), onProgress };
      return moveRegister({ ...move, register: movable.register }).finally(bar.stop);
    });
  });
  const rows = tables.reduce((sum, one) => sum + one.rows, 0);
  const seconds = Math.round((performance.now() - startedAt) / 100) / 10;
  print(args, { from, to, tables, rows, seconds }, () => {
    const count = rows.toLocaleString("en");
    const moved = `Moved from ${from} to ${to}: ${count} rows, each compared, in ${seconds} s.`;
    return `${listing(tables, tableColumns)}\n\n${readable(moved)}`;
  });
  for (const line of nextSteps(config, target)) note(line);
}

async function cancel(args: MigrateArgs, config: Config, target: Config | null): Promise<void> {
  const from = placeOf(config);
  if (target !== null && !hasDatabase(target)) throw noRegister(target);
  if (target === null)
    await confirm(
      args,
      `Without --to nobody looks at where the register of ${from} is now. Everything that was changed or attested there since is not in this one; if the other is in use too, both answer, and they differ.`,
    );
  await closing(await openDriver(config), async (source) => {
    const cancelling = { source, from, missing: noRegister(config) };
    if (target === null) return cancelMove({ ...cancelling, target: null });
    return withTarget(target, (driver) =>
      cancelMove({ ...cancelling, target: { driver, to: placeOf(target) } }),
    );
  });
  print(args, { cancelled: true, register: from }, () =>
    readable(`The register at ${from} is in use again.`),
  );
}

async function withTarget<T>(config: Config, act: (driver: Driver) => Promise<T>): Promise<T> {
  const driver = await openDriver(config).catch((error: unknown) => {
    throw aboutTarget(error);
  });
  return closing(driver, act);
}

/**
 * Refuses a place whose master key opens another register: this one's could not be put there.
 * @throws TvsError MASTER_KEY_WRONG
 */
function refuseOtherMasterKey({ database, masterKeyFile }: Config, register: string): void {
  if (database.kind === "server" || !existsSync(masterKeyFile)) return;
  if (deriveSecrets(readFileSync(masterKeyFile, "utf8")).check === register) return;
  const message = `${masterKeyFile} is the master key of another register; give --to another folder`;
  throw new TvsError("MASTER_KEY_WRONG", message);
}

const tableColumns: Columns<TableDigest> = {
  TABLE: "name",
  ROWS: ({ rows }) => rows.toLocaleString("en"),
  "SHA-256": "sha256",
};

/** What is to be done now; the master key moves by the operator's hand alone. */
function nextSteps(config: Config, target: Config): string[] {
  const { database, dataDir, masterKeyFile, sandbox } = target;
  const data = `--data ${dataDir}`;
  const where = hasUsualDatabase(target) ? data : `${data} --database ${placeOf(target)}`;
  const options = `${where}${sandbox ? " --sandbox" : ""}`;
  const isThere = config.masterKey !== undefined || existsSync(masterKeyFile);
  const [oldHead, head] = [logHeadFile(config), logHeadFile(target)];
  // It tells an old copy of the database from the newest state, so a new place has to have it.
  const needsHead = existsSync(oldHead) && !existsSync(head);
  return [
    `Every command refuses ${placeOf(config)} from now on; keep it until the new place has been checked.`,
    ...(database.kind === "server"
      ? [
          `The master key was not moved: every node needs ${config.masterKeyFile} in its own --data (mode 0600).`,
        ]
      : []),
    ...(database.kind === "file" && !isThere
      ? [
          `The master key was not moved; put it beside the file:\n  install -m 600 ${config.masterKeyFile} ${masterKeyFile}`,
        ]
      : []),
    ...(database.kind === "file" && needsHead
      ? [`Nor was the evidence log's newest checkpoint:\n  install -m 600 ${oldHead} ${head}`]
      : []),
    `Next:\n  tvs doctor ${options}\n  tvs serve ${options}`,
  ];
}
