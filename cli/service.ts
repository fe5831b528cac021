import { existsSync, lstatSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import { TvsError } from "../src/domain/errors.ts";
import { placeOver, writeBeside } from "../src/store/driver/files.ts";
import { command, group } from "./command.ts";
import { environmentFile, ownMark, type ServicePlan, unitFile, usersFile } from "./service-unit.ts";
import { print } from "./terminal/output.ts";

const installCommand = command({
  name: "install",
  description:
    "Write what systemd needs to run the service: a hardened unit with a user of its own, and a file for its " +
    "settings, which is never overwritten. Nothing is started; the commands for that are printed",
  example: "sudo tvs service install",
  args: {
    user: { type: "string", valueHint: "NAME", description: "The service's user and name (default tvs)" },
    executable: {
      type: "string",
      valueHint: "FILE",
      description: "The executable as the service will find it (default: this one)",
    },
    root: {
      type: "string",
      valueHint: "DIR",
      description: "Write below this folder instead of /, for an image or a package",
    },
    print: { type: "boolean", description: "Print the unit and write nothing" },
  },
  async run({ args }) {
    const plan = planOf(args);
    if (args.print === true) {
      const unit = unitFile(plan);
      print(args, { unit, environment: environmentFile(plan), users: usersFile(plan) }, () => unit);
      return;
    }
    const files = await install(plan, args.root ?? "/");
    const next = nextCommands(plan);
    print(args, { files, next }, () => report(files, next));
  },
});

export const serviceCommand = group("service", "Run tvs as a service of the operating system", {
  install: async () => installCommand,
});

/** @throws TvsError USAGE */
function planOf(args: {
  user?: string | undefined;
  data?: string | undefined;
  executable?: string | undefined;
}): ServicePlan {
  const user = args.user ?? "tvs";
  if (!/^[a-z_][a-z0-9_-]{0,30}$/.test(user)) {
    throw new TvsError("USAGE", "--user must be a name of small letters, digits, - and _");
  }
  const dataDir = absolute("--data", args.data ?? `/var/lib/${user}`);
  return { user, dataDir, executable: absolute("--executable", args.executable ?? thisExecutable()) };
}

/** systemd knows no folder that a path could start from, and reads white space and % in its own way. */
function absolute(flag: string, path: string): string {
  if (isAbsolute(path) && /^[^\s%"'\\]+$/.test(path)) return path;
  throw new TvsError("USAGE", `${flag} must be an absolute path without white space, quotes or %: ${path}`);
}

/** @throws TvsError USAGE for what the service could not run */
function thisExecutable(): string {
  const path = process.execPath;
  const isCompiled = !/[\\/](bun|deno|node)(-profile)?(\.exe)?$/.test(path);
  if (!isCompiled) {
    throw new TvsError(
      "USAGE",
      "run it with the tvs executable, or name it: --executable /usr/local/bin/tvs",
    );
  }
  if (/^\/(home|root|run\/user|tmp|var\/tmp)\//.test(path)) {
    const message =
      `the service cannot see ${path}; copy it first, ` +
      `\`sudo install -m 755 ${path} /usr/local/bin/tvs\`, and use that one`;
    throw new TvsError("USAGE", message);
  }
  return path;
}

type Written = { readonly path: string; readonly state: "written" | "unchanged" | "kept" };

async function install(plan: ServicePlan, root: string): Promise<Written[]> {
  const unit = join(root, `etc/systemd/system/${plan.user}.service`);
  const users = join(root, `etc/sysusers.d/${plan.user}.conf`);
  const environment = join(root, `etc/tvs/${plan.user}.env`);
  for (const path of [unit, users]) requireOurs(path);
  // systemd's files are read by everybody; only the settings, which may hold a key, are not.
  const umask = process.umask(0o022);
  try {
    return [
      await put(users, usersFile(plan), 0o644),
      lstatSync(environment, { throwIfNoEntry: false }) !== undefined
        ? { path: environment, state: "kept" }
        : await put(environment, environmentFile(plan), 0o600),
      await put(unit, unitFile(plan), 0o644),
    ];
  } catch (cause) {
    const message = `the files below ${join(root, "etc")} cannot be written; run it as root, or give --root DIR`;
    throw new TvsError("REFUSED", message, { cause });
  } finally {
    process.umask(umask);
  }
}

/** @throws TvsError REFUSED for a file that somebody else wrote, and for a link: whose file is at its end cannot be said */
function requireOurs(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (found.isFile() && readFileSync(path, "utf8").startsWith(ownMark)) return;
  const message = `${path} was not written by this command; move it away, or choose another --user`;
  throw new TvsError("REFUSED", message);
}

/** A reader finds the old file or the new one, never a half. */
async function put(path: string, content: string, mode: number): Promise<Written> {
  if (existsSync(path) && readFileSync(path, "utf8") === content) return { path, state: "unchanged" };
  mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
  placeOver(await writeBeside(path, content, mode), path);
  return { path, state: "written" };
}

function nextCommands({ user, executable }: ServicePlan): string[] {
  return [
    `sudoedit /etc/tvs/${user}.env   # TVS_ISSUER: the public address, before the first start`,
    "sudo systemd-sysusers",
    `sudo chgrp ${user} /etc/tvs/${user}.env   # so that commands find the register by it`,
    `sudo chmod 640 /etc/tvs/${user}.env`,
    "sudo systemctl daemon-reload",
    `sudo systemctl enable --now ${user}`,
    `journalctl -u ${user} -n 20 -o cat`,
    `sudo -u ${user} ${executable} status`,
  ];
}

function report(files: readonly Written[], next: readonly string[]): string {
  const done = files.map(({ path, state }) => `${state.padEnd(9)}  ${path}`);
  return [...done, "", "Next:", ...next.map((words) => `  ${words}`)].join("\n");
}
