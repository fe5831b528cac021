import type { BlindIndex } from "../blind-index.ts";
import type { TeacherKey, UniqueKey } from "./teachers.ts";

/** A checked identifier with exactly one member. `regNo` is canonical. */
export type Identifier = { regNo: string } | { tId: number } | { nin: string };

export function keyOf(identifier: Identifier, index: BlindIndex): UniqueKey {
  if ("regNo" in identifier) return { by: "regNo", value: identifier.regNo };
  if ("tId" in identifier) return { by: "tId", value: identifier.tId };
  return { by: "nin", value: index.nin(identifier.nin) };
}

/** The number of an unsuccessful lookup, for the answer; a possible NIN in another field is not repeated. */
export function askedNumber(key: TeacherKey): { regNo: string | null; tId: number | null } {
  const mayBeNin = key.by === "nin" || /(^|\D)\d{11}(\D|$)/.test(String(key.value));
  return {
    tId: key.by === "tId" && !mayBeNin ? key.value : null,
    regNo: key.by === "regNo" && !mayBeNin ? key.value : null,
  };
}
