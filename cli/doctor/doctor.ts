import {
  type Config,
  type Environment,
  type Flags,
  readConfig,
  readServeConfig,
  type ServeConfig,
} from "../../src/config.ts";
import { type Check, fail, ok } from "../../src/domain/checks.ts";
import { systemClock } from "../../src/domain/clock.ts";
import { isTvsError } from "../../src/domain/errors.ts";
import { shellWord } from "../../src/domain/plain-text.ts";
import { environmentOf, flag, version } from "../command.ts";
import { tvsCommand } from "../operator-command.ts";
import { noRegisterError, requireOwnFolder } from "../register/register.ts";
import { escapeControls, exitCodes, formatList, hang, print, printNote } from "../terminal/output.ts";
import { checkDatabase, checkEngine } from "./database.ts";
import * as machine from "./machine.ts";
import { checkClientCertificates, checkProxy, checkSigning } from "./service.ts";

export const doctorCommand = tvsCommand("doctor", {
  args: { full: flag() },
  async run({ args }) {
    const environment = environmentOf(args as Flags, { all: true });
    const serving = checkConfiguration(args as Flags, environment);
    const config = readConfig(args as Flags, environment);
    requireOwnFolder(config);
    const { checks, isMissing = false } = await examine(config, serving, args.full === true);
    const healthy = checks.every((check) => check.result !== "fail");
    const shown = checks.map(({ name, result, found, ...check }) => {
      return { name, result, found, advice: adviceText(check) };
    });
    print(args, { ok: healthy, checks: shown }, () => report(shown));
    if (isMissing) printNote(`tvs: ${noRegisterError(config).message}`);
    if (!healthy) process.exitCode = isMissing ? exitCodes.undecided : exitCodes.refused;
  },
});

function adviceText({ advice, command }: Pick<Check, "advice" | "command">): string | null {
  const words = command && `tvs ${command.map((word) => shellWord(word)).join(" ")}`;
  return words === null || advice === null ? (words ?? advice) : `${advice}: ${words}`;
}

/** Formats the findings as a table, and the advice below it, because a terminal is too narrow for another column. */
function report(checks: readonly Pick<Check, "name" | "result" | "found" | "advice">[]): string {
  const found = formatList(checks, { RESULT: "result", CHECK: "name", FOUND: "found" });
  const advice = checks.flatMap(({ name, advice }) =>
    advice ? [hang("  ", escapeControls(`${name}: ${advice}`), { indent: 6 })] : [],
  );
  return advice.length === 0 ? found : `${found}\n\nWhat to do:\n${advice.join("\n")}`;
}

type Serving = { readonly check: Check; readonly config: ServeConfig | undefined };

function checkConfiguration(flags: Flags, environment: Environment): Serving {
  try {
    const config = readServeConfig(flags, environment);
    return { check: ok("configuration", "flags and environment are valid"), config };
  } catch (error) {
    if (!isTvsError(error, "CONFIG_INVALID")) throw error;
    return { check: fail("configuration", "`tvs serve` would not start", error.message), config: undefined };
  }
}

async function examine(config: Config, serving: Serving, full: boolean) {
  const now = systemClock.now();
  const database = await checkDatabase({ config, full, now });
  const checks = [
    machine.checkRuntime(version),
    serving.check,
    machine.checkDataDirectory(config),
    machine.checkFileModes(config),
    machine.checkDisk(config),
    machine.checkMasterKey(config, database.masterKeyCheck),
    await checkEngine(),
    ...database.checks,
    await checkSigning(config),
    machine.checkTempDirectory(process.env),
    machine.checkDescriptors(),
    machine.checkTls(serving.config?.tls, now),
    ...(serving.config
      ? [checkProxy(serving.config), checkClientCertificates(serving.config, { ...database, now })]
      : []),
    await machine.checkTimeSync(),
  ];
  return { checks, isMissing: database.isMissing };
}
