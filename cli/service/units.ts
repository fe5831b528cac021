/** What `tvs service install` writes: the service as systemd runs it, and what runs beside it now and then. */

import { lstatSync, readFileSync } from "node:fs";
import { TvsError } from "../../src/domain/errors.ts";
import { option } from "../command.ts";

export type UnitOptions = {
  /** The path of the executable when the service runs. */
  readonly executable: string;
  /** The service's own user; also the unit's name. */
  readonly user: string;
  readonly dataDir: string;
  /** What wrote the unit; `service install` unless it is told. */
  readonly origin?: "command" | "package";
};

/** The last parts of the names of the units that timers start. */
export const jobNames = ["backup", "anchor", "alert", "import"] as const;

/** A command of this program that a timer starts now and then, as the service's user. */
export type TimerJob = {
  /** The last part of its units' names. */
  readonly name: (typeof jobNames)[number];
  readonly description: string;
  /** The command's words, none of which systemd would read in its own way. */
  readonly words: readonly string[];
  /** When, as systemd's calendar says it, or how often. */
  readonly at: string | { readonly everyMs: number };
  /** The folder that it writes into; null when it writes to none outside the data folder. */
  readonly folder: string | null;
  /** A file that only root can read, which it finds as `sourceAuth` says. */
  readonly sourceAuth?: string | undefined;
};

/** Where a unit finds what `LoadCredential` brings; older systemd has the variable and no specifier for it. */
// biome-ignore lint/suspicious/noTemplateCurlyInString: systemd fills it in
export const sourceAuthPath = "${CREDENTIALS_DIRECTORY}/source-auth";

/** The first line of each file that this program may replace without asking. */
const ownMark = "# Written by `tvs service install`.";

export const userArg = {
  ...option("NAME", "The service's user and name (default tvs)", readUser),
  default: "tvs",
} as const;

/** @throws TvsError USAGE */
function readUser(user: string, flag: string): string {
  if (/^[a-z_][a-z0-9_-]{0,30}$/.test(user)) return user;
  throw new TvsError("USAGE", `${flag} must be a name of lower-case letters, digits, - and _`);
}

/**
 * @throws TvsError REFUSED for a file that somebody else wrote, and for a link: whose file is at its end cannot be
 * said
 */
export function requireOurs(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (found.isFile() && readFileSync(path, "utf8").startsWith(ownMark)) return;
  const message = `${path} was not written by this command; move it away, or choose another --user`;
  throw new TvsError("REFUSED", message);
}

export const defaultDataDir = (user: string) => `/var/lib/${user}`;

/** The unit's folders. systemd makes and owns /var/lib/NAME itself; any other folder the operator must have made. */
function folders({ user, dataDir }: UnitOptions): string[] {
  if (dataDir === defaultDataDir(user)) return [`StateDirectory=${user}`, "StateDirectoryMode=0700"];
  return [`ReadWritePaths=${dataDir}`];
}

/** What the service and its jobs may not do and use. */
const hardening = `LimitNOFILE=65536
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
`;

/**
 * The unit. Settings stand in the environment file, so that an update of this program can replace the unit.
 *
 * `MemoryDenyWriteExecute` is missing because a JavaScript engine writes the code that it runs. The private /tmp
 * takes the database engine, which the executable unpacks at its start.
 */
export function unitFile(options: UnitOptions): string {
  const mark = options.origin === "package" ? "# Of the package tvs." : ownMark;
  return `${mark} Yours go into a drop-in: systemctl edit ${options.user}
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

${hardening}
[Install]
WantedBy=multi-user.target
`;
}

/** The settings file, written once and never replaced: from then on it is the operator's. */
export function environmentFile({ user, dataDir }: UnitOptions): string {
  return `# Settings of the service; \`tvs serve --help\` explains each. Then: systemctl restart ${user}
# Commands find the register by TVS_DATA too, when they are not told otherwise. They trust this file only while
# nobody but root can write it, and only those who may read it can use it: root and the group ${user}, mode 0640.
TVS_DATA=${dataDir}
# Where to listen, and the public URL, the \`iss\` of every envelope: \`tvs init\` asks for them, and the database
# remembers them. What is set here counts more. On another TVS_HOST than a loopback address the service does not
# start without an issuer.
#TVS_HOST=127.0.0.1
#TVS_PORT=8080
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
export function usersFile({ user, dataDir }: UnitOptions): string {
  return `${ownMark}\nu ${user} - "Teacher Verification Service" ${dataDir}\n`;
}

/** The unit of a job: it runs once, under what holds for the service too, and its failure shows in systemctl. */
export function jobFile(options: UnitOptions, job: TimerJob): string {
  const { name, description, words, folder, sourceAuth } = job;
  const { user, executable } = options;
  const written = folder === null ? [] : [`ReadWritePaths=${folder}`];
  const credential = sourceAuth === undefined ? [] : [`LoadCredential=source-auth:${sourceAuth}`];
  return `${ownMark} Yours go into a drop-in: systemctl edit ${user}-${name}
[Unit]
Description=${description}
Wants=network-online.target
After=network-online.target${folder === null ? "" : `\nRequiresMountsFor=${folder}`}

[Service]
Type=oneshot
ExecStart=${[executable, ...words].join(" ").replaceAll("%", "%%")}
EnvironmentFile=/etc/tvs/${user}.env
User=${user}
Group=${user}
${[...folders(options), ...written, ...credential].join("\n")}
UMask=0077
TimeoutStartSec=6h

${hardening}`;
}

/**
 * The timer of a job: what was missed while the machine was off is made up for. One that counts from the last run begins
 * a while after the start, or at once when that is past.
 */
export function timerFile({ user }: UnitOptions, { name, description, at }: TimerJob): string {
  const when =
    typeof at === "string"
      ? `OnCalendar=${at}\nPersistent=true`
      : `OnBootSec=5min\nOnUnitActiveSec=${at.everyMs / 1000}s`;
  return `${ownMark} Yours go into a drop-in: systemctl edit ${user}-${name}.timer
[Unit]
Description=${description}

[Timer]
${when}
RandomizedDelaySec=2min

[Install]
WantedBy=timers.target
`;
}
