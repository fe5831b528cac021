import { expect, test } from "bun:test";
import { putBackEndpoint, takeEndpoint } from "../../../src/domain/sandbox/endpoint.ts";
import { readSandboxState } from "../../../src/domain/sandbox/state.ts";
import { disableWebhook, setWebhook } from "../../../src/domain/webhooks.ts";
import { rejection } from "../../harness/rejection.ts";
import { type TestWebhooks, withWebhooks } from "../../harness/webhooks.ts";

const partnerId = "demo";
const url = "http://127.0.0.1:4000/secret-path";
const secret = "whsec_known";
const taken = { partnerId, url, secret, pid: 7, forwards: true };

function withSandbox(act: (world: TestWebhooks) => Promise<void>): Promise<void> {
  return withWebhooks(async (world) => {
    await world.settings.write({ environment: "sandbox" });
    await world.addPartner(partnerId);
    await act(world);
  });
}

const check = async () => {};
const setOwn = (world: TestWebhooks, own = "https://own.example/") =>
  setWebhook(world, { partnerId, url: own, check });
const relayUrl = async ({ settings }: TestWebhooks) => readSandboxState(await settings.read()).relayUrl;

test("an endpoint that was none has the secret that it is given, and is none afterwards", () =>
  withSandbox(async (world) => {
    expect(await takeEndpoint(world, taken)).toBe(secret);
    expect(await world.webhooks.endpoint(partnerId)).toMatchObject({ url });
    expect(await relayUrl(world)).toBe(url);
    expect(await putBackEndpoint(world, partnerId, url)).toBe(true);
    expect(await world.webhooks.endpoint(partnerId)).toBeNull();
    expect(await relayUrl(world)).toBeNull();
    expect(await putBackEndpoint(world, partnerId)).toBe(false);
  }));

test("an endpoint that was there keeps its secret, and is put back with all that it was", () =>
  withSandbox(async (world) => {
    const own = "https://own.example/";
    const told = { events: ["license.revoked"], teachers: "verified" } as const;
    const set = await setWebhook(world, { partnerId, url: own, told, check });
    await disableWebhook(world, partnerId);
    expect(await takeEndpoint(world, taken)).toBe(set.secret);
    expect(await world.webhooks.endpoint(partnerId)).toMatchObject({ url, disabledAt: null });
    await putBackEndpoint(world, partnerId, url);
    expect(await world.webhooks.endpoint(partnerId)).toMatchObject({ url: own, disabledReason: "operator" });
    expect((await world.partners.partners())[0]?.told).toEqual({ ...told, events: [...told.events] });
  }));

test("who listens next puts back first what a killed one has left", () =>
  withSandbox(async (world) => {
    await setOwn(world);
    await takeEndpoint(world, taken);
    const next = "http://127.0.0.1:5000/other-path";
    await takeEndpoint(world, { ...taken, url: next });
    // The killed one, were it still there, has nothing to put back any more.
    expect(await putBackEndpoint(world, partnerId, url)).toBe(false);
    expect(await putBackEndpoint(world, partnerId, next)).toBe(true);
    expect(await world.webhooks.endpoint(partnerId)).toMatchObject({ url: "https://own.example/" });
  }));

test("an endpoint that was disabled is disabled again by the very write that puts it back", () =>
  withSandbox(async (world) => {
    await setOwn(world);
    await disableWebhook(world, partnerId);
    await takeEndpoint(world, taken);
    // As a kill after the first write would leave it.
    const killed = {
      ...world.webhooks,
      async set(terms: Parameters<typeof world.webhooks.set>[0]): Promise<never> {
        await world.webhooks.set(terms);
        throw new Error("killed");
      },
    };
    expect(await rejection(putBackEndpoint({ ...world, webhooks: killed }, partnerId))).toMatchObject({
      message: "killed",
    });
    const disabled = { url: "https://own.example/", disabledReason: "operator" } as const;
    expect(await world.webhooks.endpoint(partnerId)).toMatchObject(disabled);
    await putBackEndpoint(world, partnerId);
    expect(await world.webhooks.endpoint(partnerId)).toMatchObject(disabled);
    expect(await relayUrl(world)).toBeNull();
  }));

test("an endpoint that was set meanwhile stays", () =>
  withSandbox(async (world) => {
    await takeEndpoint(world, taken);
    await setOwn(world, "https://new.example/");
    await putBackEndpoint(world, partnerId, url);
    expect(await world.webhooks.endpoint(partnerId)).toMatchObject({ url: "https://new.example/" });
    expect(await relayUrl(world)).toBeNull();
  }));

test("only an address on this machine is taken", () =>
  withSandbox(async (world) => {
    const elsewhere = takeEndpoint(world, { ...taken, url: "http://10.0.0.1:4000/x" });
    expect(await rejection(elsewhere)).toMatchObject({ message: "a relay listens on this machine" });
    expect(await world.webhooks.endpoint(partnerId)).toBeNull();
  }));
