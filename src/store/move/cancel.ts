import type { TvsError } from "../../domain/errors.ts";
import type { Driver } from "../driver/driver.ts";
import { holdsRegister, readSchema } from "../driver/schema.ts";
import { type CopyOf, markCopy, readMarks, removeMarks } from "./marks.ts";
import { refused, refuseService } from "./move.ts";
import { readTables, standOf, standSql } from "./tables.ts";

type Cancelling = {
  readonly source: Driver;
  readonly from: string;
  /** What is thrown when there is no register. */
  readonly missing: TvsError;
  /** Where it was moved to; null when that is gone for good and nobody can look. */
  readonly target: { readonly driver: Driver; readonly to: string } | null;
};

/**
 * Gives a register that was moved back to its old place, as long as nobody has changed it in the new one; that is
 * refused first, so that never both are in use.
 * @throws TvsError REGISTER_MISSING as `missing`, REFUSED, DATABASE_IN_USE
 */
export async function cancelMove({ source, target, from, missing }: Cancelling): Promise<void> {
  await readSchema(source);
  if (!(await holdsRegister(source))) throw missing;
  const { movedTo, register } = await readMarks(source);
  if (movedTo === null) throw refused("this register was not moved");
  if (target !== null) {
    if (target.to !== movedTo.to)
      throw refused(`this register was moved to ${movedTo.to}, not to ${target.to}`);
    await takeBack(source, { ...target, copyOf: { register, from, stand: null } });
  }
  await source.batch([removeMarks]);
}

async function takeBack(
  source: Driver,
  { driver, to, copyOf }: { driver: Driver; to: string; copyOf: CopyOf },
): Promise<void> {
  const isSameSchema = (await readSchema(source)) === (await readSchema(driver));
  const used = refused(
    `${to} was changed since the register was moved there; move it back from there, to an empty database`,
  );
  if (!isSameSchema) throw used;
  await refuseService(driver, to);
  if (driver.kind === "embedded") await driver.lockService();
  const marks = await readMarks(driver);
  if (marks.copyOf?.register === copyOf.register) return;
  const tables = await readTables(source);
  const unused = { sql: `${standSql(tables)} = ?`, args: [await standOf(source, tables)] };
  const [marked] = await driver.batch([markCopy(copyOf, unused)]);
  if (marked?.length === 0) throw used;
}
