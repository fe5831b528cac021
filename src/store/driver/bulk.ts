/** Rows in one statement of bound values: more of them are no quicker. */
export const blockRows = 10;
const mark = " -- rows";

/**
 * A statement that inserts rows which come as its one argument, a JSON array of arrays. As it is, it runs on every
 * database. A driver in this process binds the values instead, ten rows at a time: to take JSON apart costs SQLite
 * three times as much. The mark at its end, a comment, is how such a statement is known wherever it has travelled.
 * @param bytes the columns that hold bytes, which are hex in the JSON
 */
export function insertOfRows(
  table: string,
  columns: readonly string[],
  bytes: readonly string[] = [],
): string {
  const values = columns.map((column, place) =>
    bytes.includes(column) ? `unhex(value ->> ${place})` : `value ->> ${place}`,
  );
  return `INSERT INTO ${table} (${columns.join(", ")}) SELECT ${values.join(", ")} FROM json_each(?)${mark}`;
}

/** The same insert for one row of bound values, and for a block of them; null for any other statement. */
export function boundForms(sql: string): { one: string; block: string } | null {
  if (!sql.endsWith(mark)) return null;
  const [head = "", values = ""] = sql.slice(0, sql.lastIndexOf(" FROM json_each")).split(" SELECT ");
  const row = `(${values.replaceAll(/value ->> \d+/g, "?")})`;
  const inserting = `${head} VALUES `;
  return { one: inserting + row, block: inserting + new Array<string>(blockRows).fill(row).join(", ") };
}
