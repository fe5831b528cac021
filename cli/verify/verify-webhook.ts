/** The command `tvs verify-webhook`, which verifies a received webhook delivery with src/partner, as partners do. */

import process from "node:process";
import type { Environment } from "../../src/config.ts";
import { isoTime } from "../../src/domain/clock.ts";
import { TvsError } from "../../src/domain/errors.ts";
import {
  findWebhookSecretProblem,
  verifyWebhook,
  type WebhookRefusalReason,
  type WebhookVerification,
  webhookRefusalReasons,
} from "../../src/partner/verify-webhook.ts";
import { defineCommand, operand, option } from "../command.ts";
import { readSmallFile, readStdin } from "../safe/input-file.ts";
import { exitCodes, formatMembers, parseTime, printResult } from "../terminal/output.ts";

/** The size limit of a body. The service's deliveries are far smaller: they have a few hundred bytes. */
const maxBodyMiB = 16;

const advice: Readonly<Record<WebhookRefusalReason, string>> = {
  SIGNATURE_HEADER_MALFORMED:
    "Give the value of X-AGENCY-Signature as it was received, without the header's name.",
  SIGNATURE_MISMATCH:
    "Give the whole secret, whsec_ included, and the body's bytes as they were received, before any parsing.",
  OUTSIDE_REPLAY_WINDOW:
    "The signature itself is good. To check a delivery that was kept, give the time of its arrival with --now.",
};

export const verifyWebhookCommand = defineCommand({
  description:
    "Check offline whether a received webhook delivery is genuine. The signature must be over the body's exact " +
    "bytes, and made within 300 seconds of now. Exit 0: genuine; 1: refused, with a stable reason; 2: not readable",
  example:
    'tvs verify-webhook body.json --secret @webhook-secret.txt --signature "$X_AGENCY_SIGNATURE"\n' +
    '  tvs verify-webhook - --signature "$X_AGENCY_SIGNATURE" --now 2026-03-01T12:00:30Z < body.json',
  args: {
    file: operand("The raw request body as it was received, or - for standard input"),
    secret: option(
      "SECRET|@FILE",
      "The whole secret, whsec_ included, or @ and the file that contains it; TVS_WEBHOOK_SECRET or a file keeps it " +
        "out of the shell's history",
    ),
    signature: { ...option("HEADER", "The value of the X-AGENCY-Signature header"), required: true },
    now: option("TIME", "Check as of this time (ISO 8601)", parseTime),
  },
  async run({ args }) {
    const secret = readSecret(args.secret, process.env);
    const now = new Date(args.now ?? Date.now());
    const rawBody = await readBody(args.file);
    const verdict = await verifyWebhook({ rawBody, signature: args.signature, secret, now });
    printResult(args, verdict, () => verdictText(verdict));
    if (!verdict.valid) process.exitCode = exitCodes.refused;
  },
});

function readSecret(flag: string | undefined, environment: Environment): string {
  const given = flag ?? environment.TVS_WEBHOOK_SECRET ?? "";
  const readFile = (file: string) => readSmallFile(file, `--secret: the file ${file}`).toString("utf8");
  // Editors add a line end, which is not part of the secret.
  const secret = given.startsWith("@") ? readFile(given.slice(1)).replace(/\r?\n$/, "") : given;
  if (secret === "")
    throw new TvsError("USAGE", "the secret is not known: give --secret @FILE, or set TVS_WEBHOOK_SECRET");
  const problem = findWebhookSecretProblem(secret);
  if (problem !== null) {
    const from = given.startsWith("@") ? `the file ${given.slice(1)} of --secret` : "the webhook secret";
    throw new TvsError("INPUT_UNREADABLE", `${from} cannot be read as a secret: ${decapitalized(problem)}`);
  }
  return secret;
}

function decapitalized(sentence: string): string {
  return `${sentence.charAt(0).toLowerCase()}${sentence.slice(1).replace(/\.$/, "")}`;
}

/** Reads the body as bytes, because decoding could change them. @throws TvsError INPUT_UNREADABLE, also if empty */
async function readBody(file: string): Promise<Uint8Array> {
  const name = file === "-" ? "standard input" : file;
  const body =
    file === "-" ? await readStdin(maxBodyMiB * 1024 * 1024) : readSmallFile(file, file, maxBodyMiB);
  if (body === null) throw new TvsError("INPUT_UNREADABLE", `${name} is too large for a webhook's body`);
  if (body.length === 0)
    throw new TvsError("INPUT_UNREADABLE", `${name} is empty; give the body as it was received`);
  return body;
}

function verdictText({ valid, reason, timestamp, event }: WebhookVerification): string {
  const signedAt = timestamp === null ? null : isoTime(timestamp * 1000);
  if (reason !== null) return `refused  ${reason}\n${webhookRefusalReasons[reason]}\n${advice[reason]}`;
  if (event === null)
    return `${formatMembers({ genuine: valid, signedAt })}\nThe body is signed, but it is no event of the contract.`;
  const { eventId, eventType, occurredAt, data } = event;
  return formatMembers({ genuine: valid, signedAt, eventId, eventType, occurredAt, ...data });
}
