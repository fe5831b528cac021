import { exportSubject, type SubjectExport } from "../../src/domain/teachers/subject-export.ts";
import { keptLogOf } from "../evidence/open-evidence.ts";
import { operatorCommand } from "../operator-command.ts";
import { readLine } from "../safe/input-file.ts";
import { type Cell, listing, print, record } from "../terminal/output.ts";
import { printable, printableJson } from "../terminal/printable.ts";

/** A NIN and a line end need a dozen bytes; whoever sends more has piped in the wrong file. */
const maxInputBytes = 1024;

export const exportSubjectCommand = operatorCommand({
  description:
    "Print everything stored about the person whose NIN is read from standard input, and every lookup of it",
  example: "tvs teachers export-subject --json < nin.txt > subject.json",
  // On standard input because an argument would stand in the shell's history and in `ps`.
  prepare: () => readLine("the NIN", { maxBytes: maxInputBytes, wanted: "one NIN: exactly 11 digits" }),
  async act(operator, args, nin) {
    const { stores, blindIndex, clock } = operator;
    const kept = await keptLogOf(operator);
    const held = await exportSubject({ ...stores, blindIndex, clock, kept }, nin);
    print(args, held, () => exportText(held));
  },
});

function exportText(held: SubjectExport): string {
  const { exportedAt, record: stored, history, lookups, verifiedBy, notes } = held;
  const { profile = null, ...fields } = stored ?? {};
  const sections = [
    `exported at ${exportedAt}`,
    heading(
      "RECORD",
      stored === null ? "none; only lookups of this NIN are stored" : record(fields as Record<string, Cell>),
    ),
    ...(profile === null ? [] : [heading("PROFILE", printableJson(profile))]),
    heading("HISTORY", historyText(history)),
    heading("LOOKUPS BY PARTNERS", lookupText(lookups)),
    heading("VERIFIED BY", verifiedBy.length === 0 ? "no partner" : verifiedBy.map(printable).join("\n")),
    heading("NOTES", notes.join("\n")),
  ];
  return sections.join("\n\n");
}

function heading(title: string, text: string): string {
  return `${title}\n${text}`;
}

function historyText(history: SubjectExport["history"]): string {
  if (history.length === 0) return "none";
  return listing(history, {
    TIME: "at",
    WHAT: (line) => (line.type === "event" ? line.eventType : line.action),
    "STATUS AFTER": (line) =>
      line.type === "event" ? null : `licence ${line.after?.license}, certificate ${line.after?.certificate}`,
    REASON: (line) => (line.type === "event" ? null : line.reason),
  });
}

function lookupText(lookups: SubjectExport["lookups"]): string {
  if (lookups.length === 0) return "none";
  return listing(lookups, {
    TIME: "verifiedAt",
    PARTNER: "partnerId",
    ENDPOINT: "endpoint",
    PURPOSE: "purpose",
    ASKED: "reference",
    STATUS: "status",
    ELIGIBLE: ({ eligible }) => (eligible ? "yes" : "no"),
    CONTEXT: ({ context }) => (context === null ? null : JSON.stringify(context)),
    "VERIFICATION ID": "verificationId",
  });
}
