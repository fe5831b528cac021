/** A made-up teacher that stands for one state. The sample extract begins with these. */
type SandboxTeacher = {
  readonly shows: string;
  readonly regNo: string;
  readonly tId: number;
  readonly name: string;
  readonly nin: string;
  readonly email: string;
  readonly phone: string;
  readonly category: string;
  readonly source: "new_system" | "legacy";
  readonly active: boolean;
  readonly certificateStatus: "VERIFIED" | "NOT_FOUND" | "CLAIMED" | "LEGACY_RECORD";
  readonly licenseIssueDate: string | null;
  readonly licenseExpiryDate: string | null;
  readonly licenseRevokedOn: string | null;
};

const usual = {
  category: "A",
  source: "new_system",
  active: true,
  certificateStatus: "VERIFIED",
  licenseIssueDate: "2019-03-01",
  licenseExpiryDate: "2092-02-29",
  licenseRevokedOn: null,
} as const;

type Peculiar = Partial<SandboxTeacher> & Pick<SandboxTeacher, "shows" | "name">;

const peculiar: readonly Peculiar[] = [
  { shows: "licence valid, certificate verified", name: "Adaeze Okafor" },
  { shows: "licence expired", name: "Bola Adeyemi", licenseExpiryDate: "2022-02-28" },
  { shows: "licence revoked", name: "Chidi Nwosu", licenseRevokedOn: "2023-06-15" },
  {
    shows: "registered, never licensed",
    name: "Danjuma Bello",
    licenseIssueDate: null,
    licenseExpiryDate: null,
  },
  {
    shows: "licence that starts later",
    name: "Efe Omoregie",
    licenseIssueDate: "2090-01-01",
    licenseExpiryDate: "2095-12-31",
  },
  { shows: "deactivated", name: "Fatima Sani", active: false },
  { shows: "certificate claimed, not verified", name: "Grace Etim", certificateStatus: "CLAIMED" },
  { shows: "no certificate", name: "Halima Yusuf", certificateStatus: "NOT_FOUND" },
  {
    shows: "legacy record",
    name: "Ikenna Eze",
    source: "legacy",
    certificateStatus: "LEGACY_RECORD",
  },
  { shows: "legacy source with a verified certificate", name: "Jumoke Balogun", source: "legacy" },
  { shows: "category D", name: "Kabiru Lawal", category: "D" },
];

/** One teacher for every state, with numbers that are easy to type. NINs beginning with 999 are invented. */
export const sandboxTeachers: readonly SandboxTeacher[] = peculiar.map((teacher, index) => {
  const number = index + 1;
  const digits = String(number).padStart(2, "0");
  return {
    ...usual,
    regNo: `TR/2019/LA/0000${digits}`,
    tId: 1000 + number,
    nin: `999000000${digits}`,
    email: `teacher${digits}@example.org`,
    phone: `+2348030000${digits.padStart(3, "0")}`,
    ...teacher,
  };
});
