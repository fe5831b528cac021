/** The checks of `tvs doctor` on this machine: runtime, folders, files, limits and clock. */

import { execFile } from "node:child_process";
import { createPrivateKey, X509Certificate } from "node:crypto";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type { Config, Environment, ServeConfig } from "../../src/config.ts";
import { type Finding, fail, ok, warn } from "../../src/domain/checks.ts";
import { isoTime } from "../../src/domain/clock.ts";
import { deriveSecrets } from "../../src/domain/secrets.ts";
import { readOpenFileLimit } from "../../src/metrics/process-use.ts";
import { describeRuntime, isRunnableFile } from "../program.ts";
import { describeMasterKeyLocation } from "../safe/vault.ts";

const mebibyte = 1024 * 1024;
const dayMs = 86_400_000;
/** With fewer free bytes than this, `tvs doctor` warns, because the next import or backup can fill the disk. */
const scarceBytes = 1024 * mebibyte;
const emptyBytes = 64 * mebibyte;
const fullBytes = mebibyte;
const minDescriptors = 4096;
const renewalMs = 30 * dayMs;
const commandMs = 3_000;

const homeOf = (config: Config) => dirname(config.masterKeyFile);

export function checkRuntime(programVersion: string): Finding {
  const runtime = describeRuntime();
  const found = `tvs ${programVersion} on ${runtime}, ${process.platform} ${process.arch}`;
  if (!runtime.startsWith("Node")) return ok(found);
  return warn(found, "run the tvs executable, or the source with Bun or Deno");
}

function modeOf(path: string) {
  const mode = fs.statSync(path).mode & 0o777;
  return { text: `mode ${mode.toString(8).padStart(4, "0")}`, isOpen: (mode & 0o077) !== 0 };
}

export function checkDataDirectory(config: Config): Finding {
  const folder = homeOf(config);
  if (!fs.existsSync(folder))
    return warn(`${folder} does not exist yet`, "tvs init creates it; if there should be data, check --data");
  if (!fs.statSync(folder).isDirectory()) return fail(`${folder} is not a folder`, "give --data a folder");
  const { text, isOpen } = modeOf(folder);
  try {
    fs.accessSync(folder, fs.constants.R_OK | fs.constants.W_OK | fs.constants.X_OK);
  } catch {
    const advice = "run tvs as the folder's owner, or chown the folder to this user";
    return fail(`${folder} cannot be written by this user (${text})`, advice);
  }
  if (isOpen) return warn(`${folder} is open to other users (${text})`, `chmod 700 ${folder}`);
  return ok(`${folder}, ${text}`);
}

/** Checks the master key. @param stored the key's check value; null without a database, undefined if the database is unreadable */
export function checkMasterKey(config: Config, stored: string | null | undefined): Finding {
  const { masterKeyFile: file, masterKey } = config;
  const own = "put back the master.key that belongs to this database";
  if (masterKey === undefined && !fs.existsSync(file)) {
    if (stored === null) return ok("none yet; it is created with the register");
    return fail(`${file} is missing`, `${own}, or set TVS_MASTER_KEY`);
  }
  let check: string;
  try {
    check = deriveSecrets(masterKey ?? fs.readFileSync(file, "utf8")).check;
  } catch (error) {
    const found = `${describeMasterKeyLocation(config)} cannot be read or is not a master key`;
    return fail(found, (error as Error).message);
  }
  if (typeof stored === "string" && stored !== check)
    return fail("it is not the one this database was made with", own);
  const mode = masterKey === undefined ? modeOf(file) : null;
  if (mode?.isOpen) return fail(`${file} is open to other users (${mode.text})`, `chmod 600 ${file}`);
  const where = mode === null ? "from TVS_MASTER_KEY" : `${file}, ${mode.text}`;
  return ok(typeof stored === "string" ? `${where}, belongs to this database` : where);
}

/** Checks that only the owner can read the databases, WAL files, locks and master keys in the data folder. */
export function checkFileModes(config: Config): Finding {
  const folder = homeOf(config);
  if (!fs.existsSync(folder) || !fs.statSync(folder).isDirectory()) return ok("no files yet");
  const files = fs.readdirSync(folder).filter((file) => /\.(db|db-wal|db-shm|key|lock)$/.test(file));
  const open = files.map((file) => join(folder, file)).filter((file) => modeOf(file).isOpen);
  const [first = ""] = open;
  if (open.length === 0) return ok(`${files.length} files, open to their owner only`);
  const others = open.length === 1 ? "" : ` and ${open.length - 1} more`;
  const found = `${first}${others} open to other users (${modeOf(first).text})`;
  return warn(found, `chmod 600 ${open.join(" ")}`);
}

/** Checks the free space on the data folder's disk. @param freeBytes returns the free bytes on a folder's disk */
export function checkDiskSpace(config: Config, freeBytes = freeBytesAt): Finding {
  let folder = homeOf(config);
  while (!fs.existsSync(folder)) folder = dirname(folder);
  const bytes = freeBytes(folder);
  const found = `${Math.floor(bytes / mebibyte)} MiB free at ${folder}`;
  if (bytes < fullBytes) return fail(found, "free some space: the service refuses partners until then");
  if (bytes < emptyBytes) return fail(found, "free some space: writes are about to be refused");
  return bytes < scarceBytes ? warn(found, "free some space before the next import or backup") : ok(found);
}

function freeBytesAt(folder: string): number {
  const { bavail, bsize } = fs.statfsSync(folder);
  return Number(bavail) * Number(bsize);
}

/** Checks the temp folder where the executable unpacks its database engine. The folder must not be mounted `noexec`. */
export function checkTempDirectory(environment: Environment, uid = process.getuid?.() ?? -1): Finding {
  const folder = environment.BUN_TMPDIR || tmpdir();
  const advice = "set BUN_TMPDIR to a folder that is writable and not mounted noexec";
  let probe: string | undefined;
  try {
    probe = fs.mkdtempSync(join(folder, "tvs-doctor-"));
    const program = join(probe, "probe");
    fs.writeFileSync(program, "", { mode: 0o700 });
    if (!isRunnableFile(program)) return warn(`${folder} does not run programs (noexec)`, advice);
    return checkLeftEngines(folder, uid) ?? ok(folder);
  } catch {
    return warn(`${folder} cannot be written`, advice);
  } finally {
    if (probe !== undefined) fs.rmSync(probe, { recursive: true, force: true });
  }
}

/**
 * Finds leftover copies of the database engine. Bun unpacks the engine once and reuses that file, whose name anybody can
 * compute. If another user's file has that name, each command unpacks and leaves a copy under a random name.
 */
function checkLeftEngines(folder: string, uid: number): Finding | null {
  const found = fs.readdirSync(folder).flatMap((name) => {
    const file = fs.lstatSync(join(folder, name), { throwIfNoEntry: false });
    return file === undefined ? [] : [{ name, owner: file.uid, bytes: file.size }];
  });
  const squatted = found.find(({ name, owner }) => name.startsWith(`.bun-${uid}-`) && owner !== uid);
  const left = found.filter(({ name, owner }) => /^\.[0-9a-f]{16}-\d+\.node$/.test(name) && owner === uid);
  if (squatted === undefined && left.length === 0) return null;
  const bytes = left.reduce((sum, one) => sum + one.bytes, 0);
  const why = squatted ? `; user ${squatted.owner} owns the name it should have, ${squatted.name}` : "";
  const copies = `${left.length} leftover copies of the database engine, ${Math.ceil(bytes / mebibyte)} MiB`;
  const advice =
    "give tvs a temp folder of its own (TMPDIR, or PrivateTmp= in its unit)" +
    (left.length === 0 ? "" : `, then delete the copies: rm ${join(folder, ".????????????????-*.node")}`);
  return warn(`${folder}: ${copies}${why}`, advice);
}

export function checkFileDescriptors(): Finding {
  const limit = readOpenFileLimit();
  if (limit === null) return ok("the limit cannot be read on this system");
  const advice = "each connection needs one: raise the limit (ulimit -n 65536, or LimitNOFILE= in the unit)";
  return limit >= minDescriptors ? ok(`${limit} at once`) : warn(`${limit} at once`, advice);
}

/** Checks that the clock is synchronised. Quotas, expiry at midnight and `iat` depend on the clock. */
export async function checkTimeSync(): Promise<Finding> {
  if (fs.existsSync("/run/systemd/timesync/synchronized")) return ok("synchronised by systemd-timesyncd");
  if (!fs.existsSync("/run/systemd/system"))
    return ok("this system does not say whether its clock is synchronised");
  try {
    const args = ["show", "--property=NTPSynchronized", "--value"];
    const { stdout } = await promisify(execFile)("timedatectl", args, { timeout: commandMs });
    return stdout.trim() === "yes"
      ? ok("the clock is synchronised")
      : warn("the clock is not synchronised", "timedatectl set-ntp true, or start chrony");
  } catch {
    return ok("timedatectl does not say whether the clock is synchronised");
  }
}

export function checkTlsCertificate(tls: ServeConfig["tls"], now: number): Finding {
  if (tls === undefined) return ok("not used");
  try {
    const pem = fs.readFileSync(tls.certFile, "utf8");
    const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
    const chain = blocks.map((block) => new X509Certificate(block));
    const [leaf] = chain;
    if (leaf === undefined)
      return fail(`${tls.certFile} contains no certificate`, "give the server's chain in PEM form");
    if (!leaf.checkPrivateKey(createPrivateKey(fs.readFileSync(tls.keyFile)))) {
      const advice = "give the key that --tls-cert was made for";
      return fail("the private key does not belong to the certificate", advice);
    }
    const end = Math.min(...chain.map((one) => Date.parse(one.validTo)));
    if (end <= now) return fail(`the certificate or its chain expired at ${isoTime(end)}`, "renew it");
    if ((fs.statSync(tls.keyFile).mode & 0o007) !== 0) {
      const found = `${tls.keyFile} is open to every user (${modeOf(tls.keyFile).text})`;
      return warn(found, `chmod 600 ${tls.keyFile}`);
    }
    const found = `valid until ${isoTime(end)}`;
    return end - now < renewalMs ? warn(found, "renew it soon, then restart the service") : ok(found);
  } catch {
    const advice = "both must be PEM files that this user may read, the key not encrypted";
    return fail(`${tls.certFile} or ${tls.keyFile} cannot be read`, advice);
  }
}
