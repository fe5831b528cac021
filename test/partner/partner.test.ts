import { expect, test } from "bun:test";
import * as partner from "tvs/partner";

test("the partners' package exports exactly the values in this test's list", () => {
  // biome-ignore format: a list reads better in rows
  expect(Object.keys(partner).sort()).toEqual([
    "ClientError", "Refusal", "clientErrorCodes", "createClient", "createKeySet", "describeAge",
    "describeAnswer", "describeSignedStatement", "formatLogState", "isStatement", "openLogProof",
    "readEnvelopes", "readLogKeys", "readLogState", "readOfflinePack", "readStrictJson", "refusalReasons",
    "rememberCheckpoint", "verifyEnvelope", "verifyStatement", "verifyWebhook", "warnings",
    "webhookRefusalReasons",
  ]);
});

test("the refusal reasons with the verdict undecidable are exactly the reasons in this test's list", () => {
  const verdicts = Object.entries(partner.refusalReasons);
  expect(new Set(verdicts.map(([, { verdict }]) => verdict))).toEqual(new Set(["refused", "undecidable"]));
  const undecidable = verdicts.filter(([, { verdict }]) => verdict === "undecidable");
  // biome-ignore format: a list reads better in rows
  expect(undecidable.map(([reason]) => reason).sort()).toEqual([
    "FILE_UNREADABLE", "FOLDER_NESTED", "INPUT_TOO_LARGE", "KEY_HISTORY_UNREADABLE", "KEY_SET_UNREADABLE",
    "KID_UNKNOWN", "LOG_KEY_MISSING", "LOG_KEY_UNREADABLE", "LOG_STATE_UNREADABLE", "NOT_AN_ENVELOPE",
    "NO_ENVELOPE", "PROOF_UNREADABLE", "STATUS_LIST_STALE", "STATUS_LIST_UNUSABLE", "TEXT_DAMAGED",
    "VERIFIER_FAILED",
  ]);
});
