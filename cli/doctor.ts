import { type Config, readServeConfig, type ServeConfig } from "../src/config.ts";
import { systemClock } from "../src/domain/clock.ts";
import { isTvsError } from "../src/domain/errors.ts";
import { command, configOf } from "./command.ts";
import { version } from "./commands.ts";
import { type Check, fail, ok } from "./doctor-check.ts";
import { checkDatabase, checkEngine } from "./doctor-database.ts";
import {
  checkDataDirectory,
  checkDescriptors,
  checkDisk,
  checkFileModes,
  checkMasterKey,
  checkRuntime,
  checkTempDirectory,
  checkTls,
} from "./doctor-machine.ts";
import { checkProxy, checkTimeSync } from "./doctor-network.ts";
import { checkSigning } from "./doctor-signing.ts";
import { exitCodes, print, printable, table, terminalWidth, wrapped } from "./output.ts";

export const doctorCommand = command({
  name: "doctor",
  description:
    "Say what is wrong with this machine and how to mend it; nothing is made or changed. " +
    "Exit 0: nothing failed (warnings do not count); 1: something did",
  example:
    "tvs doctor\n  tvs doctor --full --data /var/lib/tvs\n  tvs doctor --json | jq '.checks[] | select(.result != \"ok\")'",
  args: {
    full: {
      type: "boolean",
      description: "Check every page and index of the database, however long it takes",
    },
  },
  async run({ args }) {
    const checks = await examine(configOf(args), checkConfiguration(args), args.full === true);
    const healthy = checks.every((check) => check.result !== "fail");
    print(args, { ok: healthy, checks }, () => report(checks));
    if (!healthy) process.exitCode = exitCodes.refused;
  },
});

/** The advice stands below the table: beside it, no terminal is wide enough. */
function report(checks: readonly Check[]): string {
  const found = table(
    ["RESULT", "CHECK", "FOUND"],
    checks.map((check) => [check.result, check.name, check.found]),
  );
  const advice = checks.flatMap(({ name, advice }) =>
    advice ? [`  ${wrapped(printable(`${name}: ${advice}`), terminalWidth() - 6, "\n      ")}`] : [],
  );
  return advice.length === 0 ? found : `${found}\n\nWhat to do:\n${advice.join("\n")}`;
}

type Serving = { readonly check: Check; readonly config: ServeConfig | undefined };

/** Whether `serve` would start with this environment. */
function checkConfiguration(args: object): Serving {
  try {
    const config = readServeConfig(args as Parameters<typeof readServeConfig>[0], process.env);
    return { check: ok("configuration", "flags and environment are well formed"), config };
  } catch (error) {
    if (!isTvsError(error, "CONFIG_INVALID")) throw error;
    return { check: fail("configuration", "`tvs serve` would not start", error.message), config: undefined };
  }
}

async function examine(config: Config, serving: Serving, full: boolean): Promise<Check[]> {
  const now = systemClock.now();
  const database = await checkDatabase(config, { full, now });
  return [
    checkRuntime(version),
    serving.check,
    checkDataDirectory(config),
    checkFileModes(config),
    checkDisk(config),
    checkMasterKey(config, database.masterKeyCheck),
    await checkEngine(),
    ...database.checks,
    await checkSigning(config),
    checkTempDirectory(process.env),
    checkDescriptors(),
    checkTls(serving.config?.tls, now),
    ...(serving.config === undefined ? [] : [checkProxy(serving.config)]),
    await checkTimeSync(),
  ];
}
