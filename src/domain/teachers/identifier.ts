import type { BlindIndex } from "../blind-index.ts";
import type { TeacherKey, UniqueKey } from "./teachers.ts";

/** A valid identifier of a teacher, of one of three kinds. `regNo` is canonical. */
export type Identifier = { regNo: string } | { tId: number } | { nin: string };

export function keyOfIdentifier(identifier: Identifier, index: BlindIndex): UniqueKey {
  if ("regNo" in identifier) return { by: "regNo", value: identifier.regNo };
  if ("tId" in identifier) return { by: "tId", value: identifier.tId };
  return { by: "nin", value: index.nin(identifier.nin) };
}

/** Gets the identifier that the answer to an unsuccessful lookup repeats. A number that may be a NIN becomes null. */
export function echoedIdentifierOf(key: TeacherKey): { regNo: string | null; tId: number | null } {
  const mayBeNin = key.by === "nin" || /(^|\D)\d{11}(\D|$)/.test(String(key.value));
  return {
    tId: key.by === "tId" && !mayBeNin ? key.value : null,
    regNo: key.by === "regNo" && !mayBeNin ? key.value : null,
  };
}
