/** The names that other systems give to the columns of an extract. */

import { fieldNamed, type ImportField, squeezed } from "./fields.ts";

type OtherNames = { readonly means: string; readonly mayMean?: string };

/** As names are compared: lower case, without gaps. The second list may mean something else, too. */
const otherNames: Readonly<Partial<Record<ImportField, OtherNames>>> = {
  regNo: {
    means:
      "registrationno registrationnumber regnumber regnno regdno registrationid teacherregno teacherregistrationno teacherregistrationnumber",
    mayMean: "licenseno licensenumber certificateno certificatenumber number registration",
  },
  tId: { means: "teacherid teacheridno teacheridnumber", mayMean: "id staffid staffno employeeid serialid" },
  name: {
    means: "fullname teachername nameofteacher teachersname names fullnames surnameandothernames nameinfull",
  },
  nin: {
    means:
      "nationalid nationalidno nationalidnumber nationalidentitynumber nationalidentificationnumber ninno ninnumber",
  },
  ninVerified: { means: "ninchecked ninconfirmed isninverified ninverification", mayMean: "ninstatus" },
  email: { means: "emailaddress emailid mailaddress", mayMean: "mail contact" },
  phone: {
    means:
      "phonenumber phoneno mobile mobileno mobilenumber telephone telephonenumber telephoneno tel gsm gsmno gsmnumber cellphone",
    mayMean: "contact contactno",
  },
  state: { means: "statename", mayMean: "region province stateoforigin stateofresidence county district" },
  category: { means: "teachercategory schoollevel", mayMean: "level cadre sector class type section" },
  source: { means: "recordsource datasource sourcesystem", mayMean: "system origin" },
  active: { means: "isactive activestatus activeyn", mayMean: "status employed inservice" },
  certificateStatus: {
    means: "certstatus certificateverification certificateverificationstatus certificateverified",
    mayMean: "status verification verificationstatus qualificationstatus",
  },
  certificateIssueDate: {
    means:
      "certificatedate certificateissued certificateissuedon datecertificateissued certdate dateofcertificate certissuedate",
    mayMean: "issuedate dateissued issued registrationdate dateofregistration",
  },
  licenseIssueDate: {
    means:
      "licenseissued licenseissuedon licensestart licensestartdate licensefrom licensedate dateoflicense licensevalidfrom datelicenseissued",
    mayMean: "issuedate dateissued issued validfrom startdate",
  },
  licenseExpiryDate: {
    means:
      "licenseexpiry licenseexpires licenseexpireson licenseend licenseenddate licensevalidto licensevaliduntil licenseexpirationdate dateoflicenseexpiry",
    mayMean: "expirydate expiry expires expirationdate validto validuntil enddate renewaldate dateofexpiry",
  },
  licenseRevokedOn: {
    means: "revokedon revocationdate daterevoked licenserevocationdate licenserevoked daterevocation",
    mayMean: "revoked withdrawnon",
  },
  licenseRevokedReason: {
    means: "revocationreason reasonforrevocation revokedreason reasonrevoked",
    mayMean: "reason",
  },
  photoUrl: {
    means: "photolink photoaddress passporturl pictureurl imageurl",
    mayMean: "photo picture image passport",
  },
};

const namesOf = (list = "") => list.split(" ").filter((name) => name !== "");
const meaning = new Map<string, ImportField>();
const possible = new Map<string, ImportField[]>();
for (const [field, { means, mayMean }] of Object.entries(otherNames) as [ImportField, OtherNames][]) {
  for (const name of namesOf(means)) meaning.set(name, field);
  for (const name of namesOf(mayMean)) possible.set(name, [...(possible.get(name) ?? []), field]);
}

/** What a column's name says: the register's own name, another system's for the same, or one that may mean it. */
type NameReading =
  | { readonly kind: "own" | "known"; readonly field: ImportField }
  | { readonly kind: "perhaps"; readonly fields: readonly ImportField[] }
  | { readonly kind: "unknown" };

export function readName(name: string): NameReading {
  const own = fieldNamed(name);
  if (own !== undefined) return { kind: "own", field: own };
  const key = squeezed(name).replace(/[^\p{L}\p{N}]/gu, "");
  const field = meaning.get(key) ?? fieldNamed(key);
  if (field !== undefined) return { kind: "known", field };
  const fields = possible.get(key);
  return fields === undefined ? { kind: "unknown" } : { kind: "perhaps", fields };
}

/** Whether a column holds a part of a name, which nobody can join by a mapping. */
export function isPartOfName(name: string): boolean {
  return /^(?:sur|last|family|first|fore|given|middle|other|second|maiden)names?$/.test(squeezed(name));
}
