/** Canonical JSON (RFC 8785): one text for each value, whatever the order of its members. */

/**
 * JSON with the members of every object in order, so that spelling makes no difference: RFC 8785, but for half a
 * character and a number beyond all bounds. `JSON.parse` lets both through, such bodies have been answered, and their
 * repetition must be known; what implements the RFC throws at them. The strict reader lets neither through, so what it
 * has read is in the form of the RFC to the letter.
 *
 * @param value what was read of JSON, which is not nested deeper than a reader allows
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  const parts = members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`);
  return `{${parts.join(",")}}`;
}
