import { parseFingerprint, readClientCertificate } from "../src/domain/certificates.ts";
import { TvsError } from "../src/domain/errors.ts";
import { describeCertificate, requirePartner } from "../src/domain/partners.ts";
import { command, configOf, group } from "./command.ts";
import { readSmallFile } from "./input-file.ts";
import { withOperator } from "./open.ts";
import { partnerIdArg } from "./partner-keys.ts";
import { note, print, table } from "./terminal/output.ts";

type DescribedCertificate = ReturnType<typeof describeCertificate>;

export function certificateTable(certificates: readonly DescribedCertificate[]): string {
  const rows = certificates.map((one) => [one.fingerprint, one.subject, one.validFrom, one.validTo]);
  if (rows.length === 0) return "no client certificates";
  return table(["FINGERPRINT (SHA-256)", "SUBJECT", "VALID FROM", "VALID TO"], rows);
}

const addCommand = command({
  name: "add",
  description: "Let a partner authenticate with a client certificate, known by the SHA-256 of its DER",
  example: "tvs partners cert add exam-body-a client.pem\n  tvs partners cert list exam-body-a",
  args: {
    ...partnerIdArg,
    file: {
      type: "positional",
      required: true,
      description: "One certificate, PEM or DER, without its chain",
    },
  },
  async run({ args }) {
    const file = readSmallFile(args.file);
    await withOperator(configOf(args), async ({ stores: { partners }, clock }) => {
      await requirePartner(partners, args.id);
      const certificate = readClientCertificate(file, args.id, { now: clock.now() });
      await partners.addCertificate(certificate);
      const shown = describeCertificate(certificate);
      print(args, shown, () => certificateTable([shown]));
      if (certificate.validFrom > clock.now()) note(`the certificate counts from ${shown.validFrom} on`);
    });
  },
});

const removeCommand = command({
  name: "remove",
  description: "Take a client certificate away from a partner",
  example:
    "tvs partners cert remove exam-body-a 6B:86:B2:73:FF:34:FC:E1:9D:6B:80:4E:FF:5A:3F:57:47:AD:A4:EA:A2:2F:1D:49:C0:1E:52:DD:B7:87:5B:4B",
  args: {
    ...partnerIdArg,
    fingerprint: {
      type: "positional",
      required: true,
      description: "SHA-256, with or without colons, any case",
    },
  },
  async run({ args }) {
    const fingerprint = parseFingerprint(args.fingerprint);
    await withOperator(configOf(args), async ({ stores: { partners } }) => {
      await requirePartner(partners, args.id);
      if (!(await partners.removeCertificate(args.id, fingerprint))) {
        const message = `partner "${args.id}" has no certificate with this fingerprint; \`tvs partners cert list ${args.id}\` shows them`;
        throw new TvsError("NOT_KNOWN", message);
      }
      print(args, { partnerId: args.id, fingerprint, removed: true }, () => `removed ${fingerprint}`);
    });
  },
});

const listCommand = command({
  name: "list",
  description: "Show a partner's client certificates",
  example: "tvs partners cert list exam-body-a",
  args: partnerIdArg,
  async run({ args }) {
    await withOperator(configOf(args), async ({ stores: { partners } }) => {
      await requirePartner(partners, args.id);
      const all = await partners.certificates();
      const shown = all.filter((one) => one.partnerId === args.id).map(describeCertificate);
      print(args, shown, () => certificateTable(shown));
    });
  },
});

export const partnerCertificatesCommand = group("cert", "A partner's client certificates", {
  add: async () => addCommand,
  remove: async () => removeCommand,
  list: async () => listCommand,
});
