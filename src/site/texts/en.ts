import { englishStatuses } from "./status-words.ts";

/** Every sentence of the pages in English. Another language is a file like this one, named in language.ts. */
export const english = {
  /** What a speaker of the language calls it. */
  languageName: "English",
  /** In which form dates and numbers are written (BCP 47). */
  locale: "en-GB",
  service: "Teacher Verification Service",

  shell: {
    skip: "Skip to the main part",
    languages: "Languages",
    footer: "About this service",
    home: "Check a teacher",
    verifyEnvelope: "Check a signed answer or an attestation",
    reference: "API reference",
    gettingStarted: "For partner agencies: getting started",
    manual: "For operators: the manual",
    sandbox: "Sandbox.",
    sandboxMeaning: "For trying out. Teachers here may be made up, and no answer on this page counts.",
    errorPrefix: "Error:",
    onlyEnglish: "This page is written in English only.",
    contact: "Contact",
    address: "Address",
    email: "E-mail",
    phone: "Phone",
    website: "Website",
    privacy: "Privacy",
    accessibility: "Accessibility",
    report: "Report a wrong record",
  },

  /** Pages for failures, by their status; 500 stands for what has no words of its own. */
  failures: {
    404: {
      title: "Page not found",
      means: [
        "There is no page at this address.",
        "If you typed it, compare it with where you read it. If you followed a link, it is out of date or was cut off.",
      ],
    },
    405: {
      title: "This cannot be done here",
      means: [
        "The page is there, but it does not take what your browser sent. Begin anew from one of these:",
      ],
    },
    429: {
      title: "Too many requests: please wait",
      means: ["Too much was asked from your network in a short time. Wait a minute, then try again."],
    },
    500: {
      title: "Sorry, something went wrong",
      means: [
        "The fault is ours, and it has been noted. Nothing was answered about anybody.",
        "Try again in a minute. If it goes on, come back later.",
      ],
    },
    503: {
      title: "Sorry, the service cannot answer at the moment",
      means: [
        "Nothing was answered about anybody.",
        "Try again in a minute. If it goes on, come back later.",
      ],
    },
    requestId: (id: string) => `If you write to us about it, say this number: ${id}`,
  },

  manual: {
    title: "The operator’s manual",
    lead: "For whoever runs the service. The program carries the same pages; this prints one:",
    partners: "For partners’ engineers: getting started",
    all: "All pages of the manual",
    table: (number: number) => `Table ${number}`,
  },

  lookup: {
    title: "Check whether a teacher is licensed",
    lead: "Ask the national register of teachers. It is free, and you do not need an account.",
    field: "Registration number or other detail",
    hint: (regNo: string) =>
      `A registration number such as ${regNo}, a teacher id, a NIN, an e-mail address or a phone number. Names cannot be looked up.`,
    button: "Check",
    again: "Check another teacher",
    retry: "Try again",
    privacy:
      "What you enter is not stored, and nobody is told that you asked. A NIN, an e-mail address or a phone number never becomes part of a link.",

    problem: "There is a problem",
    empty: "Enter a registration number, teacher id, NIN, e-mail address or phone number",
    tooLong: (max: number) => `What you entered is too long: it can have ${max} characters at most`,
    regNoWrong: (regNo: string) =>
      `A registration number has four parts with slashes between them, for example ${regNo}`,
    emailWrong: "Enter the whole e-mail address, for example name@example.org",
    unreadable:
      "Enter a number or an e-mail address. Names cannot be looked up, because many people share one",
    emptied:
      "The field was emptied: what you entered may be about a person, and is not shown again on a screen that others may see.",
    linkWrong: "This link is damaged: it holds no registration number or teacher id. Enter one below",
    formWrong: "Your browser sent something that this page cannot read. Enter it again below",

    ...englishStatuses,
    nobody: "Nobody found",
    licensedSummary: (name: string, expiry: string) =>
      `${name} holds a licence to teach, valid to the end of ${expiry}.`,
    expiredSummary: (name: string, expiry: string) =>
      `${name} is on the register. The licence to teach ended on ${expiry}.`,
    notLicensedSummary: (name: string) => `${name} is on the register, but holds no licence to teach today.`,
    notYetSummary: (name: string, issue: string) =>
      `${name} is on the register, but holds no licence to teach today. One begins on ${issue}.`,
    nobodySummary: "Nobody on this register matches what you entered.",
    didYouMean: "Did you mean",
    didYouMeanWhy:
      "A letter O is easily taken for the digit 0, an l for a 1, and zeros are left out. This is a guess from the form of the number: nobody was looked up under it.",

    facts: "What the register says",
    thisLookup: "This lookup",
    name: "Name",
    regNo: "Registration number",
    tId: "Teacher id",
    state: "State",
    category: "Category",
    license: "Licence",
    licenseIssued: "Licence begins",
    licenseExpires: "Licence ends",
    noLicense: "No licence in force",
    daysLeft: (days: number) =>
      days === 0 ? "today is the last day" : `${days} ${days === 1 ? "day" : "days"} left`,
    yearsLeft: (years: number) => `more than ${years} ${years === 1 ? "year" : "years"} left`,
    certificate: "Certificate",
    certificateIssued: "Certificate issued",
    /** What the terms of the register mean, said beside them. */
    terms: {
      category: "A group to which the register assigns teachers. It says nothing about the licence.",
      certificates: {
        VERIFIED: "The register confirms the teaching certificate.",
        NOT_FOUND:
          "The register holds no teaching certificate of this person. That is no statement about the licence.",
        CLAIMED: "This person says that there is a teaching certificate. The register has not confirmed it.",
        LEGACY_RECORD: "The teaching certificate was taken over from older records, and not checked again.",
      },
    },
    photo: "Photograph",
    photoLink: (host: string) => `Open it at ${host}`,
    photoHint: "It is on another website, and does not prove who somebody is.",
    unknown: "Not recorded",
    answered: "Answer given",
    asked: "Looked up by",
    kinds: {
      regNo: "registration number",
      tId: "teacher id",
      email: "an e-mail address, not repeated here",
      phone: "a phone number, not repeated here",
      elevenDigits: "a number of eleven digits, not repeated here",
      longNumber: "a number of ten digits or more, not repeated here",
    },

    means: "What this answer means",
    licensedMeans: [
      "At the time given above, this person was on the register and held a licence to teach.",
      "A licence can change at any time after that. Check again when it matters.",
    ],
    expiredMeans: [
      "At the time given above, this person was on the register, but the licence had run out.",
      "It may be renewed at any time. Check again when it matters.",
    ],
    notLicensedMeans: [
      "At the time given above, this person was on the register, but no licence to teach was in force.",
      "The register does not tell the public why. There may never have been a licence, or it has not begun, or it is not in force now.",
    ],
    nobodyMeans: [
      "At the time given above, the register was asked and had nobody under what you entered.",
      "A wrong digit is the usual cause: compare what you entered with the document, or try another number.",
      "A phone number begins with 0 or +234. A NIN has eleven digits.",
    ],
    meansNot: "What it does not mean",
    foundMeansNot: [
      "It does not prove that the person before you is this teacher. Compare the name and the registration number with an official document.",
      "It says nothing about conduct, employment or the quality of teaching.",
      "This page, printed or saved, is for your own records and can be imitated. A signed answer is given to partner agencies.",
    ],
    nobodyMeansNot: [
      "It does not mean that this person is not a teacher, or has no licence. They may be registered under another number, or elsewhere.",
      "An e-mail address or phone number that two teachers share finds neither of them.",
    ],

    wrong: "Something is wrong in this record?",
    wrongReport: "Report it to the register",
    wrongEmail: (email: string) => `Write to ${email}, with the registration number.`,

    keep: "Keep or share this answer",
    keepHow: "Print this answer, or save it as a PDF.",
    print: "Print this answer",
    linkBefore: "The link to this lookup",
    linkAfter: "asks the register again each time it is opened.",
    noLink:
      "There is no link to this lookup, because it could carry a personal number or e-mail address. Share the print-out instead.",
    onPaper: (address: string) => `Asked at ${address}. Check again there before you rely on this print-out.`,

    tooMany: "Too many lookups: please wait",
    tooManyText: (seconds: number) =>
      `There have been too many lookups from your network in this minute. Try again in ${seconds} ${seconds === 1 ? "second" : "seconds"}. Everybody on the same network shares this limit.`,
    tooManyPersonalText: (seconds: number) =>
      `There have been too many lookups by NIN, e-mail address or phone number from your network in this minute. Look up by registration number or teacher id instead, or try again in ${seconds} ${seconds === 1 ? "second" : "seconds"}.`,
    failed: "Sorry, the register cannot be asked at the moment",
    failedText: "Try again in a minute. If it goes on, come back later.",
    refused: "Sorry, this could not be done",
    noAnswer: "This is not an answer about the teacher: the register was not asked.",
    noAnswerFailed: "This is not an answer about the teacher: the register did not answer.",
  },
};

/** What every language has to say; the compiler finds the sentence that one has forgotten. */
export type Texts = typeof english;
