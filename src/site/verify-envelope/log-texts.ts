/** What the envelope page says of proofs and the evidence log; the reasons of a refusal are the partner library's own. */

/** In English; texts.ts puts it among the page's other sentences. */
export const englishLog = {
  title: "Evidence log",

  /** Which proof is there. */
  file: (name: string) => `Proof: file ${name}`,
  codes: "Proof: from the codes of the attestation",
  pasted: "Proof: pasted",
  kept: "The proof is ready",
  keptNext: "Now open or paste the envelope or the attestation that it belongs to.",

  /** What the proof shows. The number is the one in the proof file and in what the program prints. */
  by: (time: string) => `recorded by ${time}`,
  byMeaning: (time: string) => `This answer was in the register's evidence log by ${time}.`,
  entry: (number: string, size: string) =>
    `It is entry number ${number}, counted from 0, of ${size} at that time.`,
  despite: (since: string) =>
    `Its key was compromised on ${since}. The answer still counts, because it was in the log before that time: whoever took the key later cannot have made it.`,
  backdated: "it could be backdated",
  backdatedMeaning: (since: string) =>
    `The key that signed this was compromised on ${since}. The signature says that it is older, but whoever has the key can write any time. Only a proof from the evidence log that is older than the compromise shows that the answer is, too. Ask for one, and add it.`,
  someBackdatable: (count: number) =>
    `Could be backdated, because the key was compromised later: ${count} of them.`,
  tooLate: "The proof is not older than the compromise, so it does not help here.",
  askForProof:
    "If there is a proof from the evidence log that is older than the compromise, add it, and the answer can count all the same.",

  verdicts: {
    PROOF_UNREADABLE: "Cannot be decided: this is no proof",
    PROOF_MALFORMED: "Not accepted: the proof is damaged",
    PROOF_OF_ANOTHER_LOG: "Not accepted: the proof is of another log",
    PROOF_OF_ANOTHER_ENVELOPE: "Not accepted: the proof is not of this envelope",
    LOG_EPOCH_UNKNOWN: "Cannot be decided: a key of the log is missing",
    CHECKPOINT_SIGNATURE_INVALID: "Not accepted: the log did not sign this proof",
    CHECKPOINT_IN_FUTURE: "Not accepted: the proof is from the future",
    LOG_FORKED: "Not accepted: the log contradicts itself",
  },
  notChecked: "Cannot be decided: this browser could not check the proof",
  aboutProof:
    "This is about the proof. It says nothing about the envelope, which can be verified without it.",
  without: "Verify without the proof",
  fitsNone: "The proof is of none of these envelopes. Each was verified without it.",

  certificate: {
    title: "The proof from the evidence log",
    hint: "It shows by when the signed answer stood in the log, which nobody can rewrite. Read these codes back together with those of the signed answer.",
    code: (number: number, total: number) => `Proof, code ${number} of ${total}`,
    tooLong: "The proof is too long for codes on paper. Keep the file beside the attestation.",
  },

  codesOfProof: {
    missing: (missing: string, total: number) =>
      `The proof on the attestation has ${total} codes, and these were not found: ${missing}. Take sharper pictures of them, and open all the pictures together.`,
    several: "The codes belong to different proofs. Open one attestation at a time.",
    damaged: "The codes of the proof do not fit together: one of them was damaged or replaced.",
  },
};
