/**
 * The libSQL server of each data folder, when a suite is run over servers instead of files. TVS_CLUSTER says so: `3`
 * for three nodes behind a balancer that knows only connections, `proxy` for three behind Caddy. A server starts in 30 ms, so each folder has one to itself, from the first command that names the folder until it is removed.
 */
import { cp, mkdir, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { beforeRemoval } from "./folder.ts";
import { startServer, type TestServer } from "./sqld.ts";

export const cluster = readCluster(process.env.TVS_CLUSTER ?? "");

function readCluster(text: string): "file" | "3" | "proxy" {
  if (text === "") return "file";
  if (text === "3" || text === "proxy") return text;
  throw new Error(`TVS_CLUSTER is "${text}", and may be 3 or proxy`);
}

const servers = new Map<string, Promise<TestServer>>();

/** Beside the data folder and not in it: a test may look whether a command has made that one. */
function serverFolder(dataDir: string, sandbox: boolean): string {
  return `${resolve(dataDir)}.${sandbox ? "sandbox-" : ""}server`;
}

function serverOf(folder: string): Promise<TestServer> {
  const known = servers.get(folder);
  if (known !== undefined) return known;
  const started = mkdir(folder, { recursive: true }).then(() => startServer({ folder }));
  servers.set(folder, started);
  beforeRemoval(folder, async () => {
    servers.delete(folder);
    await (await started).stop();
    await rm(folder, { recursive: true });
  });
  return started;
}

/**
 * The variable that leads a command to the database of the data folder it was told; none when it was told no folder,
 * or a database.
 */
export async function databaseOf(
  words: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, string>>> {
  const dataDir = optionOf(words, "--data") ?? environment.TVS_DATA;
  const isTold = optionOf(words, "--database") !== undefined || "TVS_DATABASE" in environment;
  if (cluster === "file" || dataDir === undefined || isTold) return {};
  return { TVS_DATABASE: (await serverOf(serverFolder(dataDir, words.includes("--sandbox")))).url };
}

function optionOf(words: readonly string[], name: string): string | undefined {
  const at = words.indexOf(name);
  if (at !== -1) return words[at + 1];
  return words.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1);
}

/** The live database's file: in the data folder, or where its server keeps it. */
export function databaseFile(dataDir: string): string {
  if (cluster === "file") return join(dataDir, "tvs.db");
  return join(serverFolder(dataDir, false), "data/dbs/default/data");
}

/** Copies a data folder that nothing uses any more, and its database. */
export async function copyData(from: string, to: string): Promise<void> {
  await cp(from, to, { recursive: true });
  if (cluster === "file") return;
  const folder = serverFolder(from, false);
  await (await servers.get(folder))?.kill();
  await cp(folder, serverFolder(to, false), { recursive: true });
}
