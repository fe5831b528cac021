import { createCalendar } from "../../src/domain/clock.ts";
import { planWrite, type TeacherStore } from "../../src/domain/teacher-store.ts";
import type { StoredTeacher, TeacherContent } from "../../src/domain/teachers.ts";
import { openEmbedded } from "../../src/store/driver/embedded.ts";
import { migrate } from "../../src/store/driver/migrations.ts";
import { createTeacherStore } from "../../src/store/teachers.ts";
import { withTempDir } from "../harness.ts";
import { aTeacher } from "../store/samples.ts";

export const lagos = createCalendar("Africa/Lagos");

export type World = {
  readonly teachers: TeacherStore;
  /** A second connection to the same file, as another process has. */
  readonly other: TeacherStore;
  readonly clock: { now(): number; set(time: string): void };
  /** Puts a teacher into the register as an import at the clock's time does. */
  put(regNo: string, changes?: Partial<TeacherContent>): Promise<StoredTeacher>;
  putMany(regNos: readonly string[], changes?: Partial<TeacherContent>): Promise<void>;
  find(regNo: string): Promise<StoredTeacher>;
  /** Bodies of a teacher's events, in the order in which they were stored. */
  events(regNo: string): Promise<{ eventType: string; occurredAt: string; data: Record<string, unknown> }[]>;
};

/** A real register in a temp folder, and a clock that the test moves. */
export function withRegister(time: string, act: (world: World) => Promise<void>): Promise<void> {
  return withTempDir(async (folder) => {
    const file = `${folder}/tvs.db`;
    const drivers = [await openEmbedded({ file }), await openEmbedded({ file })] as const;
    let now = Date.parse(time);
    const [teachers, other] = [createTeacherStore(drivers[0]), createTeacherStore(drivers[1])];
    const plan = (regNo: string, changes?: Partial<TeacherContent>) =>
      planWrite(null, aTeacher(regNo, changes), {
        action: "import",
        actor: "test",
        calendar: lagos,
        at: now,
      });
    const world: World = {
      teachers,
      other,
      clock: {
        now: () => now,
        set(to) {
          now = Date.parse(to);
        },
      },
      async put(regNo, changes) {
        await teachers.apply([plan(regNo, changes)]);
        return world.find(regNo);
      },
      async putMany(regNos, changes) {
        await teachers.apply(regNos.map((regNo) => plan(regNo, changes)));
      },
      async find(regNo) {
        const found = await teachers.findStored({ by: "regNo", value: regNo });
        if (found === null) throw new Error("not in the register");
        return found;
      },
      async events(regNo) {
        const events = await teachers.events((await world.find(regNo)).id);
        return events.map(({ body }) => JSON.parse(body));
      },
    };
    try {
      await migrate(drivers[0], now);
      await act(world);
    } finally {
      for (const driver of drivers) await driver.close();
    }
  });
}
