/** `tvs service install`: the service as systemd runs it. */

import { existsSync, lstatSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import { TvsError } from "../src/domain/errors.ts";
import { placeOver, writeBeside } from "../src/store/driver/files.ts";
import { command, group } from "./command.ts";
import { print } from "./terminal/output.ts";

type UnitOptions = {
  /** The path of the executable when the service runs. */
  readonly executable: string;
  /** The service's own user; also the unit's name. */
  readonly user: string;
  readonly dataDir: string;
};

/** The first line of each file that this program may replace without asking. */
const ownMark = "# Written by `tvs service install`.";

const installCommand = command({
  name: "install",
  description:
    "Install the service for systemd: write a hardened unit, a user for it, and a settings file that is never " +
    "overwritten. Nothing is started; the commands for that are printed",
  example: "sudo tvs service install",
  args: {
    user: { type: "string", valueHint: "NAME", description: "The service's user and name (default tvs)" },
    executable: {
      type: "string",
      valueHint: "FILE",
      description: "Path of the executable for the service (default: this one)",
    },
    root: {
      type: "string",
      valueHint: "DIR",
      description: "Write below DIR instead of /, for an image or a package",
    },
    print: { type: "boolean", description: "Print the unit and write nothing" },
  },
  async run({ args }) {
    const options = readUnitOptions(args);
    if (args.print === true) {
      const unit = unitFile(options);
      print(args, { unit, environment: environmentFile(options), users: usersFile(options) }, () => unit);
      return;
    }
    const files = await install(options, args.root ?? "/");
    const next = nextCommands(options);
    print(args, { files, next }, () => report(files, next));
  },
});

export const serviceCommand = group("service", "Install tvs as a systemd service", {
  install: async () => installCommand,
});

/** @throws TvsError USAGE */
function readUnitOptions(args: {
  user?: string | undefined;
  data?: string | undefined;
  executable?: string | undefined;
}): UnitOptions {
  const user = args.user ?? "tvs";
  if (!/^[a-z_][a-z0-9_-]{0,30}$/.test(user)) {
    throw new TvsError("USAGE", "--user must be a name of lower-case letters, digits, - and _");
  }
  const dataDir = absolute("--data", args.data ?? `/var/lib/${user}`);
  return { user, dataDir, executable: absolute("--executable", args.executable ?? thisExecutable()) };
}

/** An absolute path: systemd has no current folder, and reads white space and % in its own way. */
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
      "run this with the tvs executable, or name it: --executable /usr/local/bin/tvs",
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

async function install(options: UnitOptions, root: string): Promise<Written[]> {
  const unit = join(root, `etc/systemd/system/${options.user}.service`);
  const users = join(root, `etc/sysusers.d/${options.user}.conf`);
  const environment = join(root, `etc/tvs/${options.user}.env`);
  for (const path of [unit, users]) requireOurs(path);
  // systemd's files are read by everybody; only the settings, which may hold a key, are not.
  const umask = process.umask(0o022);
  try {
    return [
      await put(users, usersFile(options), 0o644),
      lstatSync(environment, { throwIfNoEntry: false }) !== undefined
        ? { path: environment, state: "kept" }
        : await put(environment, environmentFile(options), 0o600),
      await put(unit, unitFile(options), 0o644),
    ];
  } catch (cause) {
    const message = `the files below ${join(root, "etc")} cannot be written; run this as root, or give --root DIR`;
    throw new TvsError("REFUSED", message, { cause });
  } finally {
    process.umask(umask);
  }
}

/**
 * @throws TvsError REFUSED for a file that somebody else wrote, and for a link: whose file is at its end cannot be
 * said
 */
function requireOurs(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (found.isFile() && readFileSync(path, "utf8").startsWith(ownMark)) return;
  const message = `${path} was not written by this command; move it away, or choose another --user`;
  throw new TvsError("REFUSED", message);
}

/** Writes a file whole: a reader finds the old one or the new one, never a half. */
async function put(path: string, content: string, mode: number): Promise<Written> {
  if (existsSync(path) && readFileSync(path, "utf8") === content) return { path, state: "unchanged" };
  mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
  placeOver(await writeBeside(path, content, mode), path);
  return { path, state: "written" };
}

function nextCommands({ user, executable }: UnitOptions): string[] {
  return [
    `sudoedit /etc/tvs/${user}.env   # TVS_ISSUER: the public URL, before the first start`,
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

const defaultDataDir = (user: string) => `/var/lib/${user}`;

/** The unit's folders. systemd makes and owns /var/lib/NAME itself; any other folder the operator must have made. */
function folders({ user, dataDir }: UnitOptions): string[] {
  if (dataDir === defaultDataDir(user)) return [`StateDirectory=${user}`, "StateDirectoryMode=0700"];
  return [`ReadWritePaths=${dataDir}`];
}

/**
 * The unit. Settings stand in the environment file, so that an update of this program can replace the unit.
 *
 * `MemoryDenyWriteExecute` is missing because a JavaScript engine writes the code that it runs. The private /tmp
 * takes the database engine, which the executable unpacks at its start.
 */
function unitFile(options: UnitOptions): string {
  return `${ownMark} Yours go into a drop-in: systemctl edit ${options.user}
[Unit]
Description=Teacher Verification Service
Wants=network-online.target
After=network-online.target

[Service]
Type=exec
ExecStart=${options.executable} serve
EnvironmentFile=/etc/tvs/${options.user}.env
User=${options.user}
Group=${options.user}
${folders(options).join("\n")}
UMask=0077
Restart=always
RestartSec=2
# SIGTERM answers what is in flight, for at most nine seconds.
TimeoutStopSec=30

LimitNOFILE=65536
LimitCORE=0
# A share of the machine, because each processor brings a thread with memory of its own.
MemoryHigh=60%
MemoryMax=75%
TasksMax=512

CapabilityBoundingSet=
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
DevicePolicy=closed
PrivateIPC=yes
PrivateMounts=yes
PrivateUsers=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
RemoveIPC=yes
KeyringMode=private
LockPersonality=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
SystemCallErrorNumber=EPERM

[Install]
WantedBy=multi-user.target
`;
}

/** The settings file, written once and never replaced: from then on it is the operator's. */
function environmentFile({ user, dataDir }: UnitOptions): string {
  return `# Settings of the service; \`tvs serve --help\` explains each. Then: systemctl restart ${user}
# Commands find the register by TVS_DATA too, when they are not told otherwise. They trust this file only while
# nobody but root can write it, and only those who may read it can use it: root and the group ${user}, mode 0640.
TVS_DATA=${dataDir}
TVS_HOST=127.0.0.1
TVS_PORT=8080
# The public URL, the \`iss\` of every envelope. Set it before the first partner calls; on another TVS_HOST than
# a loopback address the service does not start without it.
#TVS_ISSUER=https://verify.example.gov
# The reverse proxy in front, whose X-Forwarded-For is trusted.
#TVS_TRUSTED_PROXY=127.0.0.1
# A proxy that terminates mutual TLS, whose Client-Cert header (RFC 9440) is trusted. It must overwrite or delete the one
# that callers send, or a copied certificate opens the service. Where it sets none itself:
#   nginx: proxy_set_header Client-Cert "";    Caddy: header_up -Client-Cert
#TVS_CLIENT_CERT_FROM=127.0.0.1
# The operator's console and /metrics, on 127.0.0.1 only.
#TVS_ADMIN_PORT=9464
# Keeps each call's time, route, status, partner, key and request id for 14 days, for \`tvs calls\`.
#TVS_ACCESS_LOG=true
# The master key may come from a secret store instead of the file beside the database.
#TVS_MASTER_KEY=
#
# The log goes to the journal, a JSON object a line: journalctl -u ${user} -f -o cat
# The journal rotates it. To keep 90 days of it, and no more than 2 GB, put into
# /etc/systemd/journald.conf.d/${user}.conf:
#   [Journal]
#   SystemMaxUse=2G
#   MaxRetentionSec=90day
`;
}

/** The file with which systemd makes the user (sysusers.d). */
function usersFile({ user, dataDir }: UnitOptions): string {
  return `${ownMark}\nu ${user} - "Teacher Verification Service" ${dataDir}\n`;
}
