import type { Driver, Statement } from "../driver/driver.ts";
import { text } from "../driver/rows.ts";
import { copyOfName, masterKeyCheckName, movedToName } from "../settings.ts";

/** Beside {@link copyOfName}: which register is copied, and how its source stood when the copying began. */
const copyRegisterName = "copy_register";
const copyStandName = "copy_stand";
/** Beside {@link movedToName}. */
const movedAtName = "moved_at";

/** Settings that say something of one database, and go along to no other. */
export const markNames = [copyOfName, copyRegisterName, copyStandName, movedToName, movedAtName] as const;

/** What a copy says of its source. */
export type CopyOf = {
  /** Which master key the register was made with (Secrets.check). */
  readonly register: string;
  /** Where the source is, without anything secret. */
  readonly from: string;
  /** How the source stood when the copying began; null when what is copied must be copied anew. */
  readonly stand: string | null;
};

/** What a register that was moved says of its new place. */
type MovedTo = {
  /** Where the register is now, without anything secret. */
  readonly to: string;
  /** ISO 8601. */
  readonly at: string;
};

/**
 * Reads both marks of a database, and the register that it says it is, from their table, past the
 * store that refuses a database which has one.
 * @param driver a database with any schema of this program
 */
export async function readMarks(driver: Driver) {
  const rows = await driver.query("SELECT name, value FROM settings");
  const settings = new Map(rows.map((row) => [text(row, "name"), text(row, "value")]));
  const [from, to] = [settings.get(copyOfName), settings.get(movedToName)];
  const register = settings.get(copyRegisterName) ?? "";
  const copyOf = from === undefined ? null : { from, register, stand: settings.get(copyStandName) || null };
  return {
    register: settings.get(masterKeyCheckName) ?? "",
    copyOf,
    movedTo: to === undefined ? null : { to, at: settings.get(movedAtName) ?? "" },
    /** Whether anybody has begun to make a register here: a database that was only given its schema remembers nothing. */
    isUsed: settings.has("environment"),
  };
}

/**
 * Makes a database a copy that every command refuses.
 * @param only a condition in SQL, and what it is bound to, without which nothing is changed
 */
export function markCopy({ from, register, stand }: CopyOf, only?: Statement): Statement {
  return putAll({ [copyOfName]: from, [copyRegisterName]: register, [copyStandName]: stand ?? "" }, only);
}

/** Makes a database one that was moved, under a condition as {@link markCopy} has it. */
export function markMoved({ to, at }: MovedTo, only: Statement): Statement {
  return putAll({ [movedToName]: to, [movedAtName]: at }, only);
}

/** As one statement, which stores all of it or nothing, and returns a row for each. */
function putAll(
  values: Readonly<Record<string, string>>,
  { sql, args }: Statement = { sql: "true", args: [] },
): Statement {
  const put = `INSERT INTO settings (name, value) SELECT key, value FROM json_each(?) WHERE ${sql}
    ON CONFLICT (name) DO UPDATE SET value = excluded.value RETURNING name`;
  return { sql: put, args: [JSON.stringify(values), ...args] };
}

/** Takes a database's marks off. */
export const removeMarks: Statement = {
  sql: `DELETE FROM settings WHERE name IN (${markNames.map((name) => `'${name}'`).join(", ")})`,
  args: [],
};
