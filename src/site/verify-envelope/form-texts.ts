/** Every sentence that stands in the envelope page before its script runs: the server writes it, the browser never has it twice. */

import { type Translations, textsIn } from "../texts/test-language.ts";

const english = {
  title: "Check a signed answer",
  lead: "Find out whether an attestation or a signed answer of this service is genuine. It is checked here, in your browser: nothing that you put in leaves this page.",

  needsScript: {
    title: "This page needs JavaScript",
    why: "The check is made in your browser, so that nothing has to be sent to anybody. Your browser runs no scripts here, or the script has not loaded yet.",
    how: "Without a browser, the tvs program checks the same, offline:",
  },
  modes: {
    title: "Keys",
    fetched:
      "The public keys and the lists of what was withdrawn come from this service, in one file that is the same for everybody: the page fetches it and sends nothing.",
    toPasted: "Paste the keys instead; the page can then make no connection at all",
    pasted: "The page can make no connection at all: your browser refuses it. Paste the public keys here.",
    toFetched: "Fetch the keys from this service instead",
    jwks: "Key set (JWKS)",
    jwksHint: "The content of /v1/inter-agency/.well-known/jwks.json.",
    history: "Key history",
    historyHint:
      "The content of /v1/inter-agency/.well-known/key-history. It alone is enough, and only it tells of compromised and retired keys.",
  },

  kinds: {
    envelope: "An attestation or a signed answer",
    webhook: "Check a webhook delivery instead",
  },

  envelope: {
    open: "Open the attestation or the signed answer",
    openHint:
      "An attestation as PDF, screenshot or photograph; several pictures of one are read together. Or the answer that a partner kept: an envelope (JSON) or its signature. Files may be dropped anywhere on this page.",
    paste: "Or paste an envelope or a signature",
    settings: "Settings: signer, partner id, proof, keys",
    issuer: "Signed by (issuer)",
    issuerHint:
      "The URL of the service that must have signed. Empty: any issuer is accepted, and shown to you.",
    audience: "Signed for (partner id)",
    audienceHint:
      "Your partner id. Empty: it is not compared, so an answer that was given to somebody else passes too; for whom it was signed is shown to you.",
    verify: "Verify",
  },

  proof: {
    add: "Add a proof from the evidence log (if you have one)",
    addHint:
      "A proof is a small text file that shows by when the answer stood in the register's evidence log. With it, an answer counts even if its key was stolen later. Open or drop the file like an envelope, before it, after it or together with it; or paste its text here.",
    paste: "Proof",
    keyLabel: "Evidence log's key",
    keyHint: "The content of /v1/inter-agency/log/key. Needed only for a proof.",
    remove: "Remove the proof",
  },

  webhook: {
    open: "Open the body as a file, or drop it here",
    openHint: "The request's body, byte for byte as it was received.",
    paste: "Or paste the body",
    pasteHint:
      "A body with line breaks is better opened as a file: browsers change the ends of pasted lines.",
    header: "X-AGENCY-Signature",
    headerHint: "The header's value: t=…,v1=…",
    secret: "Webhook secret",
    secretHint: "The whole secret, whsec_ included. It stays in this page and is gone when you close it.",
    arrived: "Time of arrival",
    arrivedHint:
      "For example 2026-03-01T12:00:30Z. Empty: judged as of now, and a delivery that is older than 300 seconds is refused as a possible replay.",
    verify: "Check the delivery",
  },
};

/** What every language has to say. */
export type FormTexts = typeof english;

/** By the tags of ../language.ts. */
const languages: Translations<FormTexts> = { en: english };

/** @param tag a language's tag (BCP 47) */
export function formTexts(tag: string): FormTexts {
  return textsIn(tag, languages);
}
