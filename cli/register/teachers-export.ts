import { TvsError } from "../../src/domain/errors.ts";
import { formatOfName, type ImportFormat } from "../../src/domain/import/fields.ts";
import { exportTeachers } from "../../src/domain/teachers/export.ts";
import { flag, operand } from "../command.ts";
import { operatorCommand } from "../operator-command.ts";
import { prepareOutput } from "../safe/output-file.ts";
import { hint, note, print } from "../terminal/output.ts";
import { createBar, hasProgress } from "../terminal/progress.ts";
import { filterArgs, filterOf } from "./teachers-list.ts";

/** Names under which other programs expect something else than CSV or NDJSON. */
const otherFormats = /\.(xlsx?|ods|json|pdf|zip|gz)$/i;

/** @throws TvsError USAGE for a name that says a format which is not written */
function formatOf(file: string): ImportFormat {
  if (otherFormats.test(file))
    throw new TvsError("USAGE", "the file must be named .csv, or .ndjson or .jsonl with profiles");
  return formatOfName(file) ?? "csv";
}

export const exportCommand = operatorCommand({
  description:
    "Write teachers to a new file that `tvs teachers import` reads: NDJSON (.ndjson, .jsonl) with profiles, else CSV " +
    "without. NINs, e-mail addresses and phone numbers are not held, so they are left out; to import the file again " +
    "changes nothing",
  example: "tvs teachers export register.csv\n  tvs teachers export lagos.ndjson --state Lagos --force",
  args: {
    file: operand("The file to write"),
    ...filterArgs,
    force: flag("Replace the file"),
  },
  prepare({ file: path, force }, config) {
    return { format: formatOf(path), output: prepareOutput({ flag: "the file", path, force, config }) };
  },
  async act(operator, args, { format, output }) {
    const total = hasProgress() ? await operator.teachers.count() : 0;
    const bar = createBar({ label: "exporting", unit: "teachers", total });
    const counts = { teachers: 0, profilesLeftOut: 0 };
    const pieces = exportTeachers(operator, { format, filter: filterOf(args) });
    async function* text(): AsyncGenerator<string> {
      for await (const piece of pieces) {
        counts.teachers += piece.teachers;
        counts.profilesLeftOut += piece.profilesLeftOut;
        bar.show(counts.teachers);
        yield piece.text;
      }
      // A file with a header alone looks like a register; an import refuses it too.
      if (counts.teachers === 0)
        throw new TvsError("REFUSED", "there is no teacher to write, so no file was written");
    }
    await output.write(text()).finally(bar.stop);
    const { teachers, profilesLeftOut } = counts;
    print(args, { file: output.path, format, teachers }, () => {
      const written = teachers === 1 ? "1 teacher" : `${teachers} teachers`;
      return `${written} written to ${args.file}`;
    });
    if (profilesLeftOut > 0)
      note(
        `CSV has no column for profiles, and ${profilesLeftOut} were left out; NDJSON (.ndjson) keeps them`,
      );
    hint(args, "what a spreadsheet saves it may have changed: import its file with --dry-run first");
  },
});
