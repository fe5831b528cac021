import type { CommandLineOptions, Config, Environment, ServeConfig } from "../../src/config.ts";
import { readCommandConfig, readServeConfig } from "../../src/config.ts";
import { type Finding, fail, type NamedFinding, nameChecks, ok } from "../../src/domain/checks.ts";
import { systemClock } from "../../src/domain/clock.ts";
import { isTvsError } from "../../src/domain/errors.ts";
import { quoteShellWord } from "../../src/domain/plain-text.ts";
import { readEnvironment, toggle, tvsVersion } from "../command.ts";
import { defineTvsCommand } from "../operator-command.ts";
import { missingRegisterError, refuseForeignFolder } from "../register/register.ts";
import {
  escapeUnprintable,
  exitCodes,
  formatListTable,
  printNote,
  printResult,
  wrapIndented,
} from "../terminal/output.ts";
import { checkDatabase, checkDatabaseEngine } from "./database.ts";
import * as machine from "./machine.ts";
import { checkClientCertificates, checkSigning, checkTrustedProxies } from "./service.ts";

export const doctorCommand = defineTvsCommand("doctor", {
  args: { full: toggle() },
  async run({ args }) {
    const environment = readEnvironment(args as CommandLineOptions, { all: true });
    const serving = checkConfiguration(args as CommandLineOptions, environment);
    const config = readCommandConfig(args as CommandLineOptions, environment);
    refuseForeignFolder(config);
    const { checks, isMissing = false } = await examine(config, serving, args.full === true);
    const healthy = checks.every((check) => check.result !== "fail");
    const shown = checks.map(({ name, result, found, ...check }) => {
      return { name, result, found, advice: adviceText(check) };
    });
    printResult(args, { ok: healthy, checks: shown }, () => formatReport(shown));
    if (isMissing) printNote(`tvs: ${missingRegisterError(config).message}`);
    if (!healthy) process.exitCode = isMissing ? exitCodes.undecided : exitCodes.refused;
  },
});

function adviceText({ advice, command }: Pick<NamedFinding, "advice" | "command">): string | null {
  const words = command && `tvs ${command.map((word) => quoteShellWord(word)).join(" ")}`;
  return words === null || advice === null ? (words ?? advice) : `${advice}: ${words}`;
}

/** Formats the checks as a table, and the advice as a list below, because a column for advice would be too wide. */
function formatReport(checks: readonly Pick<NamedFinding, "name" | "result" | "found" | "advice">[]): string {
  const found = formatListTable(checks, { RESULT: "result", CHECK: "name", FOUND: "found" });
  const advice = checks.flatMap(({ name, advice }) =>
    advice ? [wrapIndented("  ", escapeUnprintable(`${name}: ${advice}`), { indent: 6 })] : [],
  );
  return advice.length === 0 ? found : `${found}\n\nWhat to do:\n${advice.join("\n")}`;
}

type Serving = { readonly finding: Finding; readonly config: ServeConfig | undefined };

function checkConfiguration(flags: CommandLineOptions, environment: Environment): Serving {
  try {
    const config = readServeConfig(flags, environment);
    return { finding: ok("flags and environment are valid"), config };
  } catch (error) {
    if (!isTvsError(error, "CONFIG_INVALID")) throw error;
    return { finding: fail("`tvs serve` would not start", error.message), config: undefined };
  }
}

async function examine(config: Config, serving: Serving, full: boolean) {
  const now = systemClock.now();
  const database = await checkDatabase({ config, full, now });
  const { config: served } = serving;
  const checks = [
    ...nameChecks({
      runtime: machine.checkRuntime(tvsVersion),
      configuration: serving.finding,
      "data-directory": machine.checkDataDirectory(config),
      "file-modes": machine.checkFileModes(config),
      disk: machine.checkDiskSpace(config),
      "master-key": machine.checkMasterKey(config, database.masterKeyCheck),
      "database-engine": await checkDatabaseEngine(),
    }),
    ...database.checks,
    ...nameChecks({
      signing: await checkSigning(config),
      "temp-directory": machine.checkTempDirectory(process.env),
      "file-descriptors": machine.checkFileDescriptors(),
      tls: machine.checkTlsCertificate(served?.tls, now),
      proxy: served === undefined ? [] : checkTrustedProxies(served),
      "client-certificates":
        served === undefined ? [] : checkClientCertificates(served, { ...database, now }),
      "time-sync": await machine.checkTimeSync(),
    }),
  ];
  return { checks, isMissing: database.isMissing };
}
