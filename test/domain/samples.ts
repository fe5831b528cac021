import type { Clock } from "../../src/domain/clock.ts";
import { deriveSecrets } from "../../src/domain/secrets.ts";
import type { StoredTeacher } from "../../src/domain/teachers.ts";
import { aTeacher } from "../store/samples.ts";

/** The bytes 0 to 31 as a master key: every value derived from it can be computed elsewhere. */
export const masterKey = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
export const secrets = deriveSecrets(masterKey);

/** A clock that stands still until the test moves it. */
export function aClock(time: string): Clock & { set(time: string): void; add(ms: number): void } {
  let now = Date.parse(time);
  return {
    now: () => now,
    set(to) {
      now = Date.parse(to);
    },
    add(ms) {
      now += ms;
    },
  };
}

/** A record as the store gives it back: active, licensed to the end of the century. */
export function aStoredTeacher(changes: Partial<StoredTeacher> = {}): StoredTeacher {
  return {
    ...aTeacher("LA/2019/PRI/04417"),
    id: 1,
    version: 1,
    announcedStatus: "VALID",
    updatedAt: 0,
    ...changes,
  };
}
