import { describe, expect, test } from "bun:test";
import {
  type GoingLiveStep,
  goingLive,
  type PartnerActivity,
} from "../../../src/domain/sandbox/going-live.ts";

const nothing: PartnerActivity = {
  partnerId: "demo",
  calls: [],
  attestations: [],
  deliveries: [],
  forgeryTrial: null,
};
const route = "/v1/inter-agency/.well-known";
const aCall = {
  partnerId: "demo",
  method: "GET",
  route: "/v1/inter-agency/eligibility-check",
  status: 200,
  replayed: false,
};
const own = (method: string, path: string) => ({
  ...aCall,
  method,
  route: `/v1/inter-agency${path}`,
});

function ticked(activity: Partial<PartnerActivity>): string[] {
  const judged = goingLive({ ...nothing, ...activity });
  return Object.entries(judged).flatMap(([step, done]) => (done ? [step] : []));
}

describe("the way to going live", () => {
  test("begins with nothing ticked off", () => {
    expect(ticked({})).toEqual([]);
  });

  test.each<[GoingLiveStep[], Partial<PartnerActivity>]>([
    [["asked"], { attestations: [{ endpoint: "eligibility-check", eligible: true }] }],
    [["notEligible"], { attestations: [{ endpoint: "lookup-by-tid", eligible: false }] }],
    [["batch"], { attestations: [{ endpoint: "batch", eligible: true }] }],
    [["retried"], { calls: [{ ...aCall, replayed: true }] }],
    [["keySet"], { calls: [{ ...aCall, partnerId: null, route: `${route}/jwks.json` }] }],
    [["keySet"], { calls: [{ ...aCall, partnerId: null, route: `${route}/jwks.json`, status: 304 }] }],
    [["keyHistory"], { calls: [{ ...aCall, partnerId: null, route: `${route}/key-history` }] }],
    [["agreed"], { calls: [own("GET", "/me")] }],
    [["watched"], { calls: [own("PUT", "/watch/{regNo}")] }],
    [["watched"], { calls: [own("POST", "/watch")] }],
    [["fetched"], { calls: [own("GET", "/events")] }],
    [["rotated"], { calls: [own("POST", "/me/keys"), own("DELETE", "/me/keys/{keyId}")] }],
    [["acknowledged"], { deliveries: [{ state: "delivered" }] }],
    [["refusedForgery"], { forgeryTrial: { refusedAll: true } }],
  ])("ticks off %p by what was seen", (steps, activity) => {
    expect(ticked(activity)).toEqual(steps);
  });

  test.each<[string, Partial<PartnerActivity>]>([
    ["another partner's retry", { calls: [{ ...aCall, partnerId: "other", replayed: true }] }],
    ["a key set that did not come", { calls: [{ ...aCall, route: `${route}/jwks.json`, status: 503 }] }],
    ["a key that was made, and the old one kept", { calls: [own("POST", "/me/keys")] }],
    ["a watch list that was read", { calls: [own("GET", "/watch")] }],
    ["a call that was refused", { calls: [{ ...own("GET", "/me"), status: 429 }] }],
    ["a delivery that is still pending", { deliveries: [{ state: "pending" }, { state: "dead" }] }],
    ["a forged delivery that was not refused", { forgeryTrial: { refusedAll: false } }],
  ])("does not take %s for it", (_what, activity) => {
    expect(ticked(activity)).toEqual([]);
  });
});
