/** The status lists and the offline pack that `tvs verify` was given (decision D15.6). */

import { TvsError } from "../../src/domain/errors.ts";
import { type OfflinePack, readOfflinePack } from "../../src/partner/status-list.ts";
import { readWhole } from "./proof.ts";

/** A pack has a list for each million teachers, of a few kilobytes each, and 180 kB at the most. */
const maxPackMiB = 16;
const maxListMiB = 2;

/** @throws TvsError INPUT_UNREADABLE for a file that is no pack */
export async function readPack(path: string): Promise<OfflinePack> {
  const pack = readOfflinePack(await readWhole(path, `the pack ${path}`, maxPackMiB));
  if (pack !== null) return pack;
  const where = "fetch it from the service's /v1/inter-agency/offline-pack";
  throw new TvsError("INPUT_UNREADABLE", `${path} is no offline pack: ${where}`);
}

/** @throws TvsError INPUT_UNREADABLE */
export async function readLists(paths: readonly string[]): Promise<string[]> {
  const files = paths.map((path) => readWhole(path, `the status list ${path}`, maxListMiB));
  return (await Promise.all(files)).map((bytes) => new TextDecoder().decode(bytes));
}
