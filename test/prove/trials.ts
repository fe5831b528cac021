/** What tries to break which promise of the README: the rows of the page that `npm run prove` writes. */

export type PromiseName = (typeof promises)[number];
/** The promises of the README, by the words that each begins with there. */
export const promises = [
  "A signed answer leaves only after its evidence is on the disk.",
  "A signed answer takes account of every change",
  '"Not found" is only ever signed when the register was asked',
  "No NIN (national identification number), e-mail address or phone number",
  "Private keys are encrypted with a master key",
  "What was said can be proved.",
  "A crash loses nothing and gives nothing back.",
  "An extract cannot wreck the register.",
  "Every core answers.",
  "Webhooks are safe to offer.",
  "It looks after its operator.",
] as const;

export type Trial = {
  /** By which its tests tell what came of it. */
  readonly name: string;
  readonly promise: PromiseName;
  /** What tried to break it, in a sentence of the page. */
  readonly how: string;
  /** Its tests, below `test/` and without `.test.ts`. */
  readonly files: readonly string[];
  /** Drawn from a seed in one process, and so worth more in a quick run, too. What kills has its rounds in `npm run faults`. */
  readonly isQuick?: boolean;
};

export const trials: readonly Trial[] = [
  {
    name: "kills-service",
    promise: "A signed answer leaves only after its evidence is on the disk.",
    how: "a service of four threads is killed while it answers and signs checkpoints; every answer that left is looked for",
    files: ["faults/service-kill"],
  },
  {
    name: "interleavings",
    promise: "A signed answer takes account of every change",
    how: "two and three servers over one database, with an operator who changes everything, in drawn orders of their reads and commits",
    files: ["domain/commit-decides"],
    isQuick: true,
  },
  {
    name: "histories-1-thread",
    promise: "A signed answer takes account of every change",
    how: "12 callers of four partners, an operator and a reader of the events share a service of one thread that is killed and started again; one order has to explain all that each of them saw: quotas, keys, records, revocations, rotations, events",
    files: ["histories/one-thread"],
  },
  {
    name: "histories-4-threads",
    promise: "Every core answers.",
    how: "the callers, the operator and the reader of histories-1-thread share a service of four threads, which is killed and started again",
    files: ["histories/four-threads"],
  },
  {
    name: "histories-3-nodes",
    promise: "A signed answer takes account of every change",
    how: "they share three nodes and one libSQL server, each of which is killed, cut off and silenced",
    files: ["histories/node-services"],
  },
  {
    name: "histories-guards",
    promise: "A signed answer takes account of every change",
    how: "calls and changes are played by three servers in drawn orders of their reads and commits, as they are and without each single condition of a commit, which has to be missed",
    files: ["histories/guards", "histories/server-guards"],
    isQuick: true,
  },
  {
    name: "changes",
    promise: "A signed answer takes account of every change",
    how: "licences, keys, quotas and partners change under 24 callers of four busy threads; no answer may be older",
    files: ["faults/changes"],
  },
  {
    name: "kills-status-lists",
    promise: "A signed answer takes account of every change",
    how: "services, the server and commands that withdraw are killed; every status list is held against the register",
    files: ["faults/status-list-kill"],
  },
  {
    name: "secrecy",
    promise: "No NIN (national identification number), e-mail address or phone number",
    how: "everything is used once, by people with known numbers and addresses, and all files, logs and answers are searched for them and for keys, in hexadecimal and base64 too",
    files: ["blackbox/secrecy"],
  },
  {
    name: "master-key",
    promise: "Private keys are encrypted with a master key",
    how: "the same files, logs and answers are searched for the master key, which may stand in its own file only",
    files: ["blackbox/secrecy"],
  },
  {
    name: "fuzz-parsers",
    promise: "What was said can be proved.",
    how: "every parser of what strangers send is given genuine documents that were edited at random, also inside of what is packed, encoded or signed; what is accepted is held against a second reader",
    files: ["fuzz/parsers"],
    isQuick: true,
  },
  {
    name: "simulation",
    promise: "What was said can be proved.",
    how: "one to three nodes, with `tvs log epoch` and `tvs log checkpoint` beside them, over one database; a seed decides the order of every request, deaths, cut links, clocks, disks and receivers; the evidence log stays one log, and all heals",
    files: ["simulation/simulation"],
    isQuick: true,
  },
  {
    name: "extracts",
    promise: "An extract cannot wreck the register.",
    how: "extracts and an operator who revokes, reinstates, deactivates and reactivates take turns; the same file again changes nothing, and no revocation made by hand is lost",
    files: ["domain/revocation-origin"],
    isQuick: true,
  },
  {
    name: "kills-nodes",
    promise: "A crash loses nothing and gives nothing back.",
    how: "three nodes over a libSQL server: each is killed, the server is, and links are cut or fall silent, under load",
    files: ["faults/service-kill"],
  },
  {
    name: "kills-events",
    promise: "A crash loses nothing and gives nothing back.",
    how: "what serves is killed while statuses change and partners fetch their events; each event once, in one order",
    files: ["faults/events-kill"],
  },
  {
    name: "kills-statements",
    promise: "A crash loses nothing and gives nothing back.",
    how: "a service is killed while it signs statements of 400 people, which come twice",
    files: ["faults/statement-kill"],
  },
  {
    name: "kills-restore",
    promise: "A crash loses nothing and gives nothing back.",
    how: "a restore over a database, and the epoch of the log that is due, are killed; the old register or the restored one is left",
    files: ["faults/restore-kill", "faults/log-moves"],
  },
  {
    name: "fuzz-http",
    promise: '"Not found" is only ever signed when the register was asked',
    how: "requests to every address of the OpenAPI document, drawn from its schemas, right or wrong in one place, in process; and broken and pipelined bytes on the sockets of a service. No 5xx, nothing that the document does not have, no number that was sent is said again",
    files: ["fuzz/http", "fuzz/http-bytes"],
    isQuick: true,
  },
  {
    name: "faults-disk",
    promise: '"Not found" is only ever signed when the register was asked',
    how: "the disk is full, read-only, slow or failing at any write of any call and of every command; nothing is half done, and all is done once it is well",
    files: ["faults/disk-service", "faults/disk-commands", "faults/disk-webhooks"],
  },
  {
    name: "faults-limits",
    promise: "It looks after its operator.",
    how: "the clock is set back and forward, commands run out of descriptors and memory, a service out of descriptors; no quota is given back, no idempotency key runs twice, nothing is half done, and the log stays whole",
    files: ["faults/clock-steps", "faults/process-limits"],
  },
  {
    name: "faults-cuts",
    promise: "An extract cannot wreck the register.",
    how: "every command that changes something is killed at any of its writes and given again: import, rotation, epoch, backup, restore, migrate",
    files: ["faults/command-cuts"],
  },
  {
    name: "kills-webhooks",
    promise: "Webhooks are safe to offer.",
    how: "the sender is killed while statuses change and one receiver in three fails; nobody is told nothing, or anything else",
    files: ["faults/webhook-kill"],
  },
];
