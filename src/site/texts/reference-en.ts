/** The sentences of the API reference in English, but for those of the OpenAPI document itself. */

export const referenceEnglish = {
  title: "API reference",
  lead: "Every call, every member and every word of the service, with examples to copy.",
  version: (version: string) => `Version ${version} of the contract.`,
  liveTitle: "This is the live service",
  live: "A call with your live key counts against your quota and is kept as evidence of what was attested to you. Integrate against a sandbox first.",
  sandboxKey:
    "The examples carry the demo partner’s key and made-up teachers: paste them as they are, or try them here.",
  sandboxNoKey: "The examples name made-up teachers. Put your own key in, or enter it where you try a call.",
  contents: "Contents",
  overview: "Overview",
  webhooks: "Webhooks",
  words: "Words and what they mean",
  wordsLead: "These words are stable: they never change their meaning, and new ones may be added.",
  errors: "Errors",
  errorsLead:
    "Every failure, what it means and what to do. Programs decide by the code, which stands in the header X-Error-Code, or by the status; the message is for people.",
  headers: "Headers",
  schemas: "Schemas",

  search: "Search the reference",
  searchHint: "Press / to search",
  /** After a number. */
  result: "result",
  results: "results",
  nothing: "Nothing found",

  baseAddress: "Base address",
  otherWays: "Elsewhere",
  openApi: "OpenAPI document (JSON)",
  gettingStarted: "Getting started, step by step",
  verifyPage: "Check a signed answer in your browser",

  linkTo: (what: string) => `Link to ${what}`,
  noCredential: "No credential needed.",
  credential: "Needs a credential.",
  parameters: "Parameters",
  body: "Body",
  delivered: "Headers of a delivery",
  answers: "Answer",
  yourAnswer: "Your answer",
  errorsOf: "Errors",
  headersOf: "Headers:",

  path: "in the path",
  query: "in the query",
  header: "header",
  required: "required",
  optional: "optional",
  maybeAbsent: "may be absent",
  or: "or",
  arrayOf: "array of",
  always: "always",
  length: (least: number, most: number) => `${least} to ${most} characters`,
  items: (least: number, most: number) => `${least} to ${most} items`,
  from: (least: number) => `${least} or more`,

  word: "Word",
  meaning: "Meaning",
  status: "Status",
  when: "When, and what to do",
  name: "Name",
  says: "What it says",

  request: "Request",
  answerExample: (what: string) => `Answer ${what}`,
  requestExample: (operation: string, language: string) => `${operation} in ${language}`,
  exampleOf: (what: string) => `Example of ${what}`,

  copy: "Copy",
  copied: "Copied",
  copyFailed: "Select it and copy",
  tryIt: "Try it",
  apiKey: "API key",
  send: "Send",
  sending: "Sending…",
  unreachable: "The service did not answer. Is it still running?",
  answerShown: "Answer of the service",
};

/** What every language has to say. */
export type ReferenceTexts = typeof referenceEnglish;
