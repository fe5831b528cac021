/** The pages that show one teacher, one partner or one import. */

import { html } from "hono/html";
import { formatDuration } from "../domain/clock.ts";
import { liveCredentialsOf } from "../domain/credentials.ts";
import { TvsError } from "../domain/errors.ts";
import { describeIssueCodeCount } from "../domain/import/report.ts";
import type { HistoryLine } from "../domain/teachers/changes.ts";
import { parseTeacherReference, readTeacherHistory, requireTeacher } from "../domain/teachers/changes.ts";
import { describeTeacher, formatRevocation } from "../domain/teachers/record.ts";
import type { ImportDetails, StoredImport } from "../store/imports.ts";
import type { ConsoleSources } from "./console-state.ts";
import { renderStatusBadge } from "./listings.ts";
import {
  type Cell,
  formatters,
  type Markup,
  makeBadge,
  makeCommandBox,
  makeNote,
  renderTable,
} from "./markup.ts";

/** Makes the page of a teacher: record, history and number of attestations. @throws TvsError USAGE, NOT_KNOWN */
export async function renderTeacherPage(reference: string, sources: ConsoleSources): Promise<Markup> {
  const { teachers, clock, configuration, commandLine } = sources;
  const teacher = await requireTeacher(teachers, parseTeacherReference(reference));
  const [history, attestations] = await Promise.all([
    readTeacherHistory(teachers, teacher.id),
    sources.attestations.countOfTeacher(teacher.id),
  ]);
  const { calendar, settings } = configuration.current();
  const { timeZone } = settings;
  const shown = describeTeacher(teacher, { calendar, clock });
  const { ninOnFile, emailOnFile, phoneOnFile } = shown;
  const yes = (flag: boolean) => (flag ? "yes" : "no");
  const onFile = `NIN ${yes(ninOnFile)}, e-mail address ${yes(emailOnFile)}, phone number ${yes(phoneOnFile)}`;
  const record = recordPanel([
    ["Name", shown.name],
    ["Registration number", shown.regNo],
    ["Teacher id", shown.tId],
    ["Licence today", renderStatusBadge(shown.licenseStatus)],
    ["Licence", `${shown.licenseIssueDate ?? "–"} to ${shown.licenseExpiryDate ?? "–"}`],
    ["Revoked", formatRevocation(shown)],
    ["Certificate", [shown.certificateStatus, shown.certificateIssueDate ?? []].flat().join(", ")],
    ["Active", yes(shown.active)],
    ["Hidden", shown.hidden ? makeBadge("quiet", "hidden") : "no"],
    ["State", shown.state],
    ["Category", shown.category],
    ["Source", shown.source],
    ["On file", onFile],
    ["Record changed", `${formatters.time(teacher.updatedAt, timeZone)} (version ${shown.version})`],
  ]);
  const ref = encodeURIComponent(shown.regNo);
  return html`${record}
<section class="panel"><h2>History</h2>${historyTable(history, timeZone)}</section>
<section class="panel"><h2>Attested</h2><p><a href="./attestations?teacher=${ref}">${formatters.count(attestations)} ${attestations === 1 ? "attestation" : "attestations"}</a></p>
${makeCommandBox(commandLine(`teachers revoke ${shown.regNo} --reason TEXT`))}</section>`;
}

function recordPanel(facts: readonly (readonly [name: string, value: Cell | number | null])[]): Markup {
  return html`<section class="panel"><h2>Record</h2><dl class="record">${facts.map(
    ([name, value]) => html`<div><dt>${name}</dt><dd>${value ?? "–"}</dd></div>`,
  )}</dl></section>`;
}

/** Makes the page of a partner: scopes, quotas, endpoint and valid credentials, without secrets. @throws TvsError NOT_KNOWN */
export async function renderPartnerPage(partnerId: string, sources: ConsoleSources): Promise<Markup> {
  const { credentials, settings } = sources.configuration.current();
  const partner = credentials.partners.get(partnerId);
  if (partner === undefined) throw new TvsError("NOT_KNOWN", "there is no such partner");
  const { readings } = await sources.readings();
  const use = readings?.quotas.find((one) => one.partner.partnerId === partnerId)?.use;
  const endpoint = readings?.endpoints.find((one) => one.partnerId === partnerId);
  const at = (time: number | null) => (time === null ? "–" : formatters.time(time, settings.timeZone));
  const rows = liveCredentialsOf(credentials, partnerId, sources.clock.now()).map((one) =>
    "keyId" in one
      ? [one.keyId, "API key", at(one.createdAt), at(one.expiresAt)]
      : [one.fingerprint, "certificate", at(one.addedAt), at(one.validTo)],
  );
  return html`${recordPanel([
    ["Name", partner.name],
    ["Partner id", partnerId],
    ["State", partner.disabledAt === null ? "enabled" : makeBadge("quiet", "disabled")],
    ["Scopes", partner.scopes.join(", ")],
    ["Purposes", partner.purposes.join(", ")],
    ["Calls this minute", use ? formatters.use(use.minute) : null],
    ["Calls today (UTC)", use ? formatters.use(use.day) : null],
    ["Webhook", endpoint ? endpoint.host : null],
    ["Onboarded", at(partner.createdAt)],
  ])}
<section class="panel"><h2>Keys and certificates</h2>${
    rows.length === 0
      ? makeNote("This partner has no valid key or certificate.")
      : renderTable("Keys and certificates", { head: ["Id", "Kind", "Since", "Ends"], rows })
  }
${makeCommandBox(sources.commandLine(`partners show ${partnerId}`))}</section>`;
}

function historyTable(history: readonly HistoryLine[], timeZone: string): Markup {
  if (history.length === 0) return makeNote("Nothing has changed since the record was made.");
  return renderTable("History", {
    head: ["Time", "Change", "Licence", "Certificate", "By", "Reason or event"],
    rows: history.map((line) => historyRow(line, timeZone)),
  });
}

function historyRow(line: HistoryLine, timeZone: string): Cell[] {
  if (line.type === "event")
    return [formatters.time(line.at, timeZone), `event ${line.eventType}`, "", "", "", line.eventId];
  const { at, action, before, after, actor, reason } = line;
  const moved = (from: string | undefined, to: string) =>
    from === undefined || from === to ? to : `${from} → ${to}`;
  return [
    formatters.time(at, timeZone),
    action,
    moved(before?.license, after.license),
    moved(before?.certificate, after.certificate),
    actor,
    html`<span class="prose">${reason ?? "–"}</span>`,
  ];
}

export function renderImportsTable(
  imports: readonly StoredImport[],
  { timeZone, now, commandLine }: { timeZone: string; now: number } & Pick<ConsoleSources, "commandLine">,
): Markup {
  if (imports.length === 0)
    return html`${makeNote("Nothing has been imported.")}${makeCommandBox(commandLine("teachers import FILE --dry-run"))}`;
  return renderTable("Imports of the register", {
    head: ["Started", "File", "State", "Inserted", "Updated", "Unchanged", "Rejected", "Warnings", "Events"],
    numbersFrom: 3,
    rows: imports.map((one) => [
      html`<a href="./import?id=${one.id}">${formatters.time(one.startedAt, timeZone)}</a>`,
      fileName(one.file),
      importBadge(one, now),
      ...[one.inserted, one.updated, one.unchanged, one.rejected, one.warnings, one.events].map(
        formatters.count,
      ),
    ]),
  });
}

function importBadge(one: StoredImport, now: number): Markup {
  const { startedAt, finishedAt, abandonedAt, rejected } = one;
  if (abandonedAt !== null) return makeBadge("quiet", "given up");
  if (finishedAt === null) return makeBadge("warn", `under way for ${formatDuration(now - startedAt)}`);
  const done = `done in ${formatDuration(finishedAt - startedAt)}`;
  if (rejected === 0) return makeBadge("good", done);
  const accepted = one.inserted + one.updated + one.unchanged;
  return accepted > 0
    ? makeBadge("warn", `${done}, some rejected`)
    : makeBadge("bad", "nothing changed, all rejected");
}

const codeHead = ["Code", "Kind", "Meaning", "First lines", "Rows"];

/** Makes the page of an import: its rejected rows and warnings by error code. The page shows line numbers, not values. */
export function renderImportPage(one: ImportDetails, { commandLine }: Pick<ConsoleSources, "commandLine">) {
  const rows = one.codes
    .map(describeIssueCodeCount)
    .map(({ code, rejects, rows: met, meaning, first }) => [
      html`<code>${code}</code>`,
      rejects ? makeBadge("bad", "rejected") : makeBadge("warn", "remark"),
      html`<span class="prose">${meaning}</span>`,
      html`<span class="prose">${first.map(({ line, field }) => (field === null ? `${line}` : `${line} (${field})`)).join(", ")}${met > first.length ? " …" : ""}</span>`,
      formatters.count(met),
    ]);
  return html`<section class="panel"><h2>Rows by code</h2>${
    rows.length === 0
      ? makeNote("Every row was accepted without a remark.")
      : renderTable("Rows by code", { head: codeHead, numbersFrom: 4, rows })
  }</section>
<section class="panel"><h2>The file</h2><p>${fileName(one.file)}, SHA-256 <code class="digest">${one.sha256}</code></p>
<p>To list every line:</p>${makeCommandBox(commandLine("teachers import FILE --dry-run --report report.json"))}</section>`;
}

/** Returns the file's name without its folders, because the name of a folder may be a person's name. */
const fileName = (path: string): string => path.replace(/^.*[\\/]/, "");
