import { sleep } from "../harness/eventually.ts";
import { withTempDir } from "../harness/folder.ts";
import { startService } from "../harness/program.ts";
import { type Callers, type KeyedLoad, type LoadFindings, startLoad } from "./keyed-load.ts";
import { damageOf, printFindings } from "./killed.ts";
import { addPartner, importTeachers, openDatabase, type Register } from "./register.ts";

/**
 * Kills a serving process with SIGKILL again and again while callers wait for answers, and then compares
 * what the callers hold with what the database says. Run alone: `bun test/faults/kill.ts KILLS THREADS`.
 */
export type Findings = {
  readonly kills: number;
  readonly answered: number;
  readonly replayed: number;
  readonly interrupted: number;
  /** Must be nothing. */
  readonly faults: LoadFindings & { readonly damage: string };
};

const teachers = 200;
const bigCallers = 15;
/** A quota that one caller of a minute reaches. */
const smallPerMinute = 25;

export function killRepeatedly(kills: number, threads: number): Promise<Findings> {
  return withTempDir(async (dataDir) => {
    const start = () => startService({ dataDir, args: ["--threads", String(threads)] });
    const callers = await prepareCallers({ dataDir });
    let service = await start();
    const load = startLoad({ url: () => service.url, teachers, callers });
    for (let kill = 0; kill < kills; kill++) {
      await answersAndReplays(load);
      await sleep(100 + Math.random() * 300);
      await service.stop("SIGKILL");
      service = await start();
    }
    await load.stop();
    await service.stop();
    return compare({ dataDir }, load, kills);
  });
}

/** Until the service has answered and replayed since now: a fault before that would show nothing. */
export async function answersAndReplays({ answers }: KeyedLoad): Promise<void> {
  const before = answers.length;
  const isReplayed = () => answers.slice(before).some(({ isReplay }) => isReplay);
  while (answers.length < before + bigCallers || !isReplayed()) await sleep(5);
}

/** Makes a register, with callers of one partner whose quota nobody reaches, and one of another who does. */
export async function prepareCallers(register: Register): Promise<Callers[]> {
  await importTeachers(register, teachers);
  const big = { partnerId: "big", count: bigCallers, perMinute: null };
  const small = { partnerId: "small", count: 1, perMinute: smallPerMinute };
  return [
    { ...big, apiKey: await addPartner(register, "big", 100_000_000) },
    { ...small, apiKey: await addPartner(register, "small", smallPerMinute) },
  ];
}

async function compare(register: Register, load: KeyedLoad, kills: number): Promise<Findings> {
  const database = await openDatabase(register);
  try {
    return {
      kills,
      answered: load.answers.length,
      replayed: load.answers.filter(({ isReplay }) => isReplay).length,
      interrupted: load.failures.length,
      faults: { ...(await load.judge(database)), damage: await damageOf(database) },
    };
  } finally {
    await database.close();
  }
}

if (import.meta.main) {
  const [kills = "50", threads = "2"] = process.argv.slice(2);
  printFindings(await killRepeatedly(Number(kills), Number(threads)));
}
