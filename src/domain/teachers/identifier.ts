import type { BlindIndex } from "../blind-index.ts";
import type { TeacherKey, UniqueKey } from "./teachers.ts";

/** Whom somebody asks about, already checked: exactly one member. `regNo` is canonical. */
export type Identifier = { regNo: string } | { tId: number } | { nin: string };

/** By what a teacher is looked up who is named so. */
export function keyOf(identifier: Identifier, index: BlindIndex): UniqueKey {
  if ("regNo" in identifier) return { by: "regNo", value: identifier.regNo };
  if ("tId" in identifier) return { by: "tId", value: identifier.tId };
  return { by: "nin", value: index.nin(identifier.nin) };
}

/** The number that was asked for in vain; what could be a NIN in the wrong place is not repeated. */
export function askedNumber(key: TeacherKey): { regNo: string | null; tId: number | null } {
  const mayBeNin = key.by === "nin" || /(^|\D)\d{11}(\D|$)/.test(String(key.value));
  return {
    tId: key.by === "tId" && !mayBeNin ? key.value : null,
    regNo: key.by === "regNo" && !mayBeNin ? key.value : null,
  };
}
