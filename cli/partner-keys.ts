import { isoTime } from "../src/domain/clock.ts";
import { describeApiKey, issueApiKey, revokeApiKey } from "../src/domain/credentials.ts";
import { requirePartner } from "../src/domain/partners.ts";
import { command, configOf, group } from "./command.ts";
import { withOperator } from "./open.ts";
import { confirm, yesArg } from "./terminal/confirm.ts";
import { hint, note, parseDuration, print, record, table } from "./terminal/output.ts";

export const partnerIdArg = {
  id: { type: "positional", required: true, description: "The partner's id; `tvs partners list` shows them" },
} as const;

type DescribedKey = ReturnType<typeof describeApiKey>;

/** Keys by their ids; what opens the service is not stored and cannot be shown. */
export function keyTable(keys: readonly DescribedKey[]): string {
  const rows = keys.map((key) => [key.keyId, key.state, key.createdAt, key.expiresAt, key.revokedAt]);
  return table(["KEY", "STATE", "CREATED", "ENDS", "REVOKED"], rows);
}

const issueCommand = command({
  name: "issue",
  description: "Issue a further API key, shown this once; the one in use ends after the overlap",
  example:
    "tvs partners key issue exam-body-a --overlap 7d\n  tvs partners key issue exam-body-a --overlap 0s   # the old one has leaked",
  args: {
    ...partnerIdArg,
    overlap: {
      type: "string",
      valueHint: "DURATION",
      description: "How long the old key still works (default 24h)",
    },
  },
  async run({ args }) {
    const overlapMs = parseDuration("--overlap", args.overlap ?? "24h");
    await withOperator(configOf(args), async ({ stores: { partners }, secrets, keyKind, clock }) => {
      await requirePartner(partners, args.id);
      const options = { kind: keyKind, secrets, now: clock.now(), overlapMs };
      const { text, record: key, previous } = await issueApiKey(partners, args.id, options);
      const ends =
        previous === null ? null : { keyId: previous.keyId, expiresAt: isoTime(previous.expiresAt) };
      const shown = { partnerId: args.id, keyId: key.keyId, apiKey: text, previous: ends };
      print(args, shown, () =>
        record({
          partnerId: args.id,
          keyId: key.keyId,
          apiKey: text,
          ...(ends === null ? {} : { previous: `${ends.keyId}, works until ${ends.expiresAt}` }),
        }),
      );
      note("the API key is shown this once; hand it over in a safe way");
      if (ends !== null) hint(args, `tvs partners key revoke ${ends.keyId} ends the old one sooner`);
    });
  },
});

const revokeCommand = command({
  name: "revoke",
  description: "End an API key at once",
  example: "tvs partners key revoke 3fYk0aTz81Qd\n  tvs partners key revoke 3fYk0aTz81Qd --yes",
  args: {
    ...yesArg,
    keyid: {
      type: "positional",
      required: true,
      description: "The key's id; `tvs partners key list ID` shows them",
    },
  },
  async run({ args }) {
    await withOperator(configOf(args), async ({ stores: { partners }, clock }) => {
      const now = clock.now();
      await confirm(
        args,
        `Whoever uses the API key ${args.keyid} is refused at once. This cannot be undone.`,
      );
      const { record: key, isLast } = await revokeApiKey(partners, args.keyid, now);
      print(args, describeApiKey(key, now), () => `${key.keyId} of ${key.partnerId} is revoked`);
      if (isLast)
        note(`partner "${key.partnerId}" has no live API key now; tvs partners key issue ${key.partnerId}`);
    });
  },
});

const listCommand = command({
  name: "list",
  description: "Show a partner's API keys with their states and ends; never a key itself",
  example: "tvs partners key list exam-body-a",
  args: partnerIdArg,
  async run({ args }) {
    await withOperator(configOf(args), async ({ stores: { partners }, clock }) => {
      await requirePartner(partners, args.id);
      const keys = (await partners.apiKeys())
        .filter((key) => key.partnerId === args.id)
        .map((key) => describeApiKey(key, clock.now()));
      print(args, keys, () => keyTable(keys));
    });
  },
});

export const partnerKeysCommand = group("key", "A partner's API keys", {
  issue: async () => issueCommand,
  revoke: async () => revokeCommand,
  list: async () => listCommand,
});
