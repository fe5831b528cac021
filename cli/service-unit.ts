/** What `tvs service install` writes, as text. Nothing here touches the machine. */

export type ServicePlan = {
  /** Where the executable lies when the service runs. */
  readonly executable: string;
  /** The service's own user; also the unit's name. */
  readonly user: string;
  readonly dataDir: string;
};

/** The first line of each file that this program may replace without asking. */
export const ownMark = "# Written by `tvs service install`.";

const defaultDataDir = (user: string) => `/var/lib/${user}`;

/** systemd makes and owns /var/lib/NAME itself; any other folder is the operator's, who must have made it. */
function folders({ user, dataDir }: ServicePlan): string[] {
  if (dataDir === defaultDataDir(user)) return [`StateDirectory=${user}`, "StateDirectoryMode=0700"];
  return [`ReadWritePaths=${dataDir}`];
}

/**
 * The unit. Settings stand in the environment file, so that an update of this program can replace the unit.
 *
 * `MemoryDenyWriteExecute` is missing because a JavaScript engine writes the code that it runs. The private /tmp
 * takes the database engine, which the executable unpacks at its start.
 */
export function unitFile(plan: ServicePlan): string {
  return `${ownMark} Yours go into a drop-in: systemctl edit ${plan.user}
[Unit]
Description=Teacher Verification Service
Wants=network-online.target
After=network-online.target

[Service]
Type=exec
ExecStart=${plan.executable} serve
EnvironmentFile=/etc/tvs/${plan.user}.env
User=${plan.user}
Group=${plan.user}
${folders(plan).join("\n")}
UMask=0077
Restart=always
RestartSec=2
# SIGTERM answers what is in flight, for at most nine seconds.
TimeoutStopSec=30

LimitNOFILE=65536
LimitCORE=0
MemoryHigh=768M
MemoryMax=1G
TasksMax=256

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
# The signing threads stand back for the thread that feeds them.
SystemCallFilter=setpriority
SystemCallErrorNumber=EPERM

[Install]
WantedBy=multi-user.target
`;
}

/** The settings. Written once and never replaced: from then on it is the operator's. */
export function environmentFile({ user, dataDir }: ServicePlan): string {
  return `# Settings of the service; \`tvs serve --help\` explains each. Then: systemctl restart ${user}
# Commands find the register by TVS_DATA too, when they are not told otherwise. They believe this file only while
# nobody but root can write it, and only who may read it can use it: root and the group ${user}, mode 0640.
TVS_DATA=${dataDir}
TVS_HOST=127.0.0.1
TVS_PORT=8080
# The public address, the \`iss\` of every envelope. Set it before the first partner calls; on another TVS_HOST than
# a loopback address the service does not start without it.
#TVS_ISSUER=https://verify.example.gov
# The reverse proxy in front, whose X-Forwarded-For is believed.
#TVS_TRUSTED_PROXY=127.0.0.1
# A proxy that ends mutual TLS, whose Client-Cert header (RFC 9440) is believed. It must overwrite or delete the one
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

/** Has systemd make the user (sysusers.d). */
export function usersFile({ user, dataDir }: ServicePlan): string {
  return `${ownMark}\nu ${user} - "Teacher Verification Service" ${dataDir}\n`;
}
