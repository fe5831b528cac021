import { describe, expect, test } from "bun:test";
import { Readable } from "node:stream";
import { importDependencies } from "../../cli/open.ts";
import { type ImportOptions, importRegister } from "../../src/domain/import/import.ts";
import { changeTeacher, type TeacherAction } from "../../src/domain/teachers/changes.ts";
import { createImportStore } from "../../src/store/imports.ts";
import { withTempDir } from "../harness/folder.ts";
import { withTestOperator } from "../harness/service.ts";

const header =
  "reg_no,name,source,active,certificate_status,license_issue_date,license_expiry_date,license_revoked_on";
const extract = (expiry: string) =>
  `${header}\nTR/2019/LA/1,Ada,new_system,true,VERIFIED,2019-01-01,${expiry},\n`;

/** Imports an extract that is older than what the operator does between its check and its apply. */
function importWhile(action: TeacherAction, options: ImportOptions = {}) {
  return withTempDir((folder) =>
    withTestOperator(folder, async (operator) => {
      const store = createImportStore(operator.driver, operator.dataDir);
      const add = (text: string, imports: typeof store) =>
        importRegister(
          { name: "extract.csv", bytes: Readable.from([Buffer.from(text)]) },
          { ...importDependencies(operator), imports },
          options,
        );
      await add(extract("2090-01-01"), store);
      const {
        stores: { teachers },
        calendar,
        clock,
        actor,
      } = operator;
      const act = () =>
        changeTeacher(
          { teachers, calendar, clock, actor },
          { by: "regNo", value: "TR/2019/LA/1" },
          { action, reason: "decision of the board" },
        );
      const begin: typeof store.begin = async (run) => {
        await act();
        return store.begin(run);
      };
      const result = await add(extract("2091-01-01"), { ...store, begin });
      const again = await add(extract("2091-01-01"), store);
      const teacher = await teachers.findStored({ by: "regNo", value: "TR/2019/LA/1" });
      return { result, again, teacher };
    }),
  );
}

describe("an import that was checked before the operator", () => {
  test("revoked a licence does not take that back", async () => {
    const { result } = await importWhile("revoke");
    expect(result).toMatchObject({ updated: 0, rejected: 1 });
  });

  test("deactivated a teacher does not take that back", async () => {
    const { result } = await importWhile("deactivate");
    expect(result).toMatchObject({ updated: 0, rejected: 1 });
  });

  test("and when it is given again, the rest of the row is applied and the revocation is kept", async () => {
    const { again, teacher } = await importWhile("revoke");
    expect(again).toMatchObject({ updated: 1, warnings: 1 });
    expect(teacher).toMatchObject({ licenseRevokedBy: "operator", licenseExpiryDate: "2091-01-01" });
  });

  test("revoked a licence does not take that back under --lift-revocations either", async () => {
    const { result, again } = await importWhile("revoke", { liftRevocations: true, allowChange: true });
    expect(result).toMatchObject({ updated: 0, rejected: 1 });
    expect(again).toMatchObject({ updated: 1, warnings: 1, events: 1 });
  });
});
