import { existsSync } from "node:fs";
import type { Config } from "../../src/config.ts";
import type { RegisterReader } from "../../src/console/register-reader.ts";
import type { Configuration } from "../../src/domain/configuration.ts";
import { requireTeacher, teacherHistory, teacherKeyOf } from "../../src/domain/teachers/changes.ts";
import { findTeachers, listTeachers } from "../../src/domain/teachers/list.ts";
import { readCalls } from "../../src/store/access-log/reader.ts";
import { createImportHistory } from "../../src/store/imports.ts";
import type { Operator } from "../open.ts";

/** What the console reads of the register, over the main thread's connection. */
export function createRegisterReader(
  { stores, driver, blindIndex, clock }: Operator,
  {
    configuration,
    config,
  }: { configuration: Pick<Configuration, "current">; config: Pick<Config, "callsFolder"> },
): RegisterReader {
  const { teachers, attestations, webhooks } = stores;
  const imports = createImportHistory(driver);
  // The day is the service's own, which a sandbox's engineer can move.
  const looking = () => ({ teachers, blindIndex, clock, calendar: configuration.current().calendar });
  return {
    list: (filter, page) => listTeachers(looking(), filter, page),
    find: (term, page) => findTeachers(looking(), term, page),
    async teacher(ref) {
      const teacher = await requireTeacher(teachers, teacherKeyOf(ref));
      const [history, count] = await Promise.all([
        teacherHistory(teachers, teacher.id),
        attestations.countOfTeacher(teacher.id),
      ]);
      return { teacher, history, attestations: count };
    },
    attestations: (query) => attestations.list(query),
    deliveries: (filter) => webhooks.deliveries(filter),
    async calls(filter) {
      if (!existsSync(config.callsFolder)) return null;
      return [...(await readCalls(config.callsFolder, filter)).calls];
    },
    changes: (filter) => stores.changes.list(filter),
    imports: (limit) => imports.latest(limit),
    import: (id) => imports.find(id),
  };
}
