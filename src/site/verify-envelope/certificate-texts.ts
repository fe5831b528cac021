/** What the envelope page says of printed attestations and of their codes that come one at a time, in English. */

export const englishCertificate = {
  make: "Make an attestation to print",
  print: "Print or save as PDF",
  title: "Attestation",
  attests: (issuer: string, time: string) => `${issuer} attested on ${time}:`,
  named: (name: string, issuer: string) => `${name} (${issuer})`,
  signature: "The signature",
  purpose: "Purpose",
  purposeUnsigned: "Not signed. The partner who asked has it; the service keeps it.",
  checked: "Checked",
  checkedWith: {
    fetched: (time: string) => `${time}, with the service's published keys`,
    pasted: (time: string) => `${time}, with keys that were pasted by whoever made this page`,
  },
  meansTitle: "What this means",
  means: [
    "The service named above gave this answer at that time to the partner named above, and signed it.",
    "The codes below carry the signed answer itself. Only they prove anything: read them back, do not trust the print.",
  ],
  meansNotTitle: "What it does not mean",
  meansNot: [
    "It does not say how things stand today: a licence can expire or be revoked after that time.",
    "It does not prove that whoever shows it is the teacher it names.",
  ],
  profile: "The codes also carry the profile (qualifications, employment) that is part of the signed answer.",
  back: "Back to the result",
  /** The name under which a browser saves it, and the title of the PDF. */
  fileTitle: (about: string, day: string) => `Attestation ${about}, ${day}`,
  codesTitle: "The signed answer",
  codesHint: (total: number, address: string) =>
    `To check it, point a phone's camera at ${total === 1 ? "the code" : "one code after the other"} and open the link; nothing is sent. Or open this page as a PDF or a photograph at ${address}, or with tvs verify --qr FILE.`,
  proofFollows: "The codes of the proof from the evidence log follow on the next page.",
  code: (number: number, total: number) => `Code ${number} of ${total}`,
  tooLong: "The signed answer is too long for codes on paper. Keep the envelope itself.",
};

export const englishGathering = {
  title: (here: number, total: number) => `${here} of ${total} codes read`,
  proofTitle: (here: number, total: number) => `Proof: ${here} of ${total} codes read`,
  next: (missing: readonly number[]) =>
    missing.length === 1
      ? `Scan the one that is missing with your camera: code ${missing[0]}.`
      : `Scan the next one with your camera: code ${missing.slice(0, -1).join(", ")} or ${missing.at(-1)}.`,
  nextProof: (missing: readonly number[]) =>
    `Of the proof from the evidence log, scan ${missing.length === 1 ? "code" : "codes"} ${missing.join(", ")}.`,
  nextEnvelope: "The proof is whole. Now scan the codes of the signed answer.",
  photograph: "Or open one photograph of the whole attestation below.",
  kept: "What the codes say stays on this device until the last one is here, for 15 minutes at most. Nothing is sent.",
  forget: "Forget these codes",
  forgotten: "Nothing of the codes is kept on this device any more.",
  forgottenTitle: "The codes are forgotten",
  withoutProof: "Check without the proof",
  over: "The last code did not come within 15 minutes, so the others were forgotten. Scan all of them again.",
  broken: "The link holds no whole code. Scan it again, or open a photograph of the attestation.",
  damaged: "The codes do not fit together: one of them was damaged or replaced. Scan all of them again.",
};
