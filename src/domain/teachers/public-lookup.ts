import type { License } from "../../partner/contract.ts";
import type { TeacherReader } from "../../store/teachers.ts";
import type { BlindIndex } from "../blind-index.ts";
import { type Clock, isoTime } from "../clock.ts";
import type { Configuration } from "../configuration.ts";
import { isTvsError } from "../errors.ts";
import { searchKeysOf } from "./search-term.ts";
import { certificateOf, describeLicenseOn, noLicense, type Teacher } from "./teachers.ts";

type PublicLicense = Omit<License, "status"> & { status: "VALID" | "EXPIRED" | "NOT_FOUND" };

/** The answer of the public lookup (contract C3). */
export type PublicAnswer = { found: false; verifiedAt: string } | ReturnType<typeof describe>;

export type PublicLookup = (term: string) => Promise<PublicAnswer>;

/** Makes the public lookup. The lookup throws the store's errors, so a failure never becomes the answer "not found". */
export function createPublicLookup(dependencies: {
  configuration: Configuration;
  teachers: Pick<TeacherReader, "find">;
  blindIndex: BlindIndex;
  clock: Clock;
  /** Whether the database can be replaced unnoticed. True for a libSQL server; the service watches a database file. */
  mayBeReplaced?: boolean;
}): PublicLookup {
  const { configuration, teachers, blindIndex, clock, mayBeReplaced = false } = dependencies;

  async function find(term: string): Promise<Teacher | null> {
    for (const key of searchKeysOf(term, blindIndex)) {
      const teacher = await teachers.find(key);
      if (teacher !== null) return teacher;
    }
    return null;
  }

  /** Checks before the answer "not found" that the database was not replaced. @throws TvsError REFUSED */
  async function requireRegister(): Promise<void> {
    await configuration.refresh().catch((error) => {
      if (isTvsError(error, "REFUSED")) throw error;
    });
  }

  return async (term) => {
    const teacher = await find(term.trim());
    if (teacher === null && mayBeReplaced) await requireRegister();
    const now = clock.now();
    const verifiedAt = isoTime(now);
    return teacher === null
      ? { found: false, verifiedAt }
      : describe(teacher, { today: configuration.current().calendar.dateAt(now), verifiedAt });
  };
}

function describe(teacher: Teacher, { today, verifiedAt }: { today: string; verifiedAt: string }) {
  const license = publicLicense(teacher, today);
  const tId = teacher.tId === null ? null : String(teacher.tId);
  const { name, state, category, photoUrl } = teacher;
  return {
    ...{ found: true as const, name, tId, status: shownStatus[license.status], state },
    teacher: { name, tId, state, category, ...(photoUrl === null ? {} : { photoUrl }) },
    certificate: certificateOf(teacher),
    license,
    verifiedAt,
  };
}

const shownStatus = { VALID: "Licensed", EXPIRED: "Expired", NOT_FOUND: "Not licensed" } as const;

/** The licence for the public. A revoked licence is shown as no licence (contract C13). */
function publicLicense(teacher: Teacher, today: string): PublicLicense {
  const license = describeLicenseOn(teacher, today);
  return license.status === "REVOKED" ? noLicense : { ...license, status: license.status };
}
