/**
 * Writes canonical JSON (RFC 8785): one text for each value, whatever the order of its members. The RFC fails for lone
 * surrogates and infinite numbers. Both are written here, because `JSON.parse` accepts them in a request body, and a
 * repeated body must be recognised. The strict reader refuses both.
 */
export function formatCanonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(formatCanonicalJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  const parts = members.map(([name, member]) => `${JSON.stringify(name)}:${formatCanonicalJson(member)}`);
  return `{${parts.join(",")}}`;
}
