import { foldedName, maxNameRead } from "./name-search.ts";

/**
 * Whether a name as somebody listed it can be the registered one: a number of somebody else's must not pass under
 * another name. Case, marks, spaces, hyphens, apostrophes and the order (`Bello, Ngozi`) say nothing, a letter stands
 * for a name that begins with it, and names that one side leaves out between the first and the last are forgiven.
 * @returns null when no name is listed
 */
export function nameMatches(listed: string, registered: string): boolean | null {
  if (listed.length > maxNameRead) return false;
  const given = partsOf(listed);
  if (given.length === 0) return null;
  const known = partsOf(registered);
  // A double name may be written as one word, too.
  return orders(given).some((parts) => areAlike(parts, known) || parts.join("") === known.join(""));
}

/** The parts of a name in the order in which it is spoken. */
function partsOf(name: string): string[] {
  const comma = name.indexOf(",");
  const spoken = comma === -1 ? name : `${name.slice(comma + 1)} ${name.slice(0, comma)}`;
  return foldedName(spoken)
    .split(" ")
    .filter((part) => part !== "");
}

/** As it stands, and with the family name at the other end. */
function orders(parts: readonly string[]): string[][] {
  return [[...parts], [...parts.slice(1), ...parts.slice(0, 1)], [...parts.slice(-1), ...parts.slice(0, -1)]];
}

/** Whether first and last agree, and what stands between them in the shorter name is in the longer one, in its order. */
function areAlike(one: readonly string[], other: readonly string[]): boolean {
  const [short, long] = one.length <= other.length ? [one, other] : [other, one];
  if (short.length < 2) return long.length === short.length && isAlike(short[0], long[0]);
  if (!isAlike(short[0], long[0]) || !isAlike(short.at(-1), long.at(-1))) return false;
  const between = long.slice(1, -1);
  let at = 0;
  return short.slice(1, -1).every((part) => {
    while (at < between.length && !isAlike(part, between[at])) at++;
    return at++ < between.length;
  });
}

function isAlike(one = "", other = ""): boolean {
  if (one.length === 1 || other.length === 1) return one.charAt(0) === other.charAt(0);
  return one === other;
}
