/** What the envelope page says of webhook deliveries, in English: the form, and what was found. */

export const englishWebhook = {
  open: "Open the body as a file, or drop it here",
  openHint: "The request's body, byte for byte as it was received.",
  paste: "Or paste the body",
  pasteHint: "A body with line breaks is better opened as a file: browsers change the ends of pasted lines.",
  header: "X-AGENCY-Signature",
  headerHint: "The header's value: t=…,v1=…",
  secret: "Webhook secret",
  secretHint: "The whole secret, whsec_ included. It stays in this page and is gone when you close it.",
  arrived: "Time of arrival",
  arrivedHint:
    "For example 2026-03-01T12:00:30Z. Empty: judged as of now, and a delivery that is older than 300 seconds is refused as a possible replay.",
  verify: "Check the delivery",
};

export const englishWebhookVerdict = {
  meaning: "The delivery was signed with this secret over exactly this body.",
  noEvent: "The body is signed, but it is no event of the contract.",
  advice: {
    SIGNATURE_HEADER_MALFORMED:
      "Paste the header's value only, as it was received, without the header's name.",
    SIGNATURE_MISMATCH:
      "Give the whole secret, whsec_ included, and the body byte for byte, before any program parsed it.",
    OUTSIDE_REPLAY_WINDOW:
      "The signature itself is good. To judge a delivery that was kept, give the time of its arrival.",
  },
  signedAt: "Signed on",
  event: (type: string) => `Event: ${type}`,
  header: "Signature header",
  signature: "Signature",
  replay: "Replay window",
  details: {
    header: "It has the form t=…,v1=….",
    signature: "It was made with this secret over this body.",
    replay: "Signed within 300 seconds of the time of arrival.",
    notReached: "Not reached.",
  },
};
