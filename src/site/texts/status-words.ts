/** What the register's codes are called in English: on the look-up page, and on that of signed answers. */
export const englishStatuses = {
  licensed: "Licensed",
  expired: "Expired",
  notLicensed: "Not licensed",
  certificates: {
    VERIFIED: "Verified",
    NOT_FOUND: "None on the register",
    CLAIMED: "Claimed, not verified",
    LEGACY_RECORD: "On record in the earlier register",
  },
};
