/**
 * Writes canonical JSON (RFC 8785): equal values give one text, whatever the order of their members. The RFC demands an
 * error for lone surrogates and infinite numbers. This function writes both, because `JSON.parse` accepts both in a
 * request body, and a repeated body must be recognised. `readStrictJson` refuses both.
 */
export function formatCanonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(formatCanonicalJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  const parts = members.map(([name, member]) => `${JSON.stringify(name)}:${formatCanonicalJson(member)}`);
  return `{${parts.join(",")}}`;
}
