import type { Attestation, AttestationFilter } from "../domain/attestations.ts";
import type { Call, CallFilter } from "../domain/calls.ts";
import type { ChangeFilter, RecordedChange } from "../domain/changes.ts";
import type { Delivery, DeliveryFilter } from "../domain/deliveries.ts";
import type { ImportDetails, ImportRecord } from "../domain/import/store.ts";
import type { HistoryLine } from "../domain/teachers/changes.ts";
import type { PageRequest, TeacherFilter, TeacherPage } from "../domain/teachers/list.ts";
import type { StoredTeacher } from "../domain/teachers/teachers.ts";

/** A teacher's record, what happened to it, and how often it was attested. */
export type TeacherFile = {
  readonly teacher: StoredTeacher;
  readonly history: readonly HistoryLine[];
  readonly attestations: number;
};

/** What the console reads of the register when somebody looks for something (decision D7.7). */
export type RegisterReader = {
  list(filter: TeacherFilter, page: PageRequest): Promise<TeacherPage>;
  /** @throws TvsError USAGE when the term can name nobody */
  find(term: string, page: PageRequest): Promise<TeacherPage>;
  /** @param ref a registration number or a teacher id. @throws TvsError USAGE, NOT_KNOWN */
  teacher(ref: string): Promise<TeacherFile>;
  attestations(query: AttestationFilter): Promise<Attestation[]>;
  deliveries(filter: DeliveryFilter): Promise<Delivery[]>;
  /** Null where no access log is kept. */
  calls(filter: CallFilter): Promise<Call[] | null>;
  changes(filter: ChangeFilter): Promise<RecordedChange[]>;
  imports(limit: number): Promise<ImportRecord[]>;
  import(id: number): Promise<ImportDetails | null>;
};
