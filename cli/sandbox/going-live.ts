import type { Config } from "../../src/config.ts";
import type { Clock } from "../../src/domain/clock.ts";
import type { Configuration } from "../../src/domain/configuration.ts";
import { apiKeyId, isLive } from "../../src/domain/credentials.ts";
import { type GoingLive, goingLive, type TryOut } from "../../src/domain/sandbox/going-live.ts";
import { triggered } from "../../src/domain/sandbox/teachers.ts";
import { triggerEvent } from "../../src/domain/sandbox/trigger.ts";
import type { Demo } from "../../src/http/local-caller.ts";
import type { Stores } from "../open.ts";

/** How far back a sandbox looks: calls of a day's trying, and attestations. */
const latest = { attestations: 500 };

type Read = {
  readonly stores: Stores;
  readonly config: Config;
  readonly configuration: Pick<Configuration, "current">;
  readonly clock: Clock;
};

/** What the pages of a sandbox do; a live service has nothing to try out. */
export function tryOutOf(from: Read, demo: Demo | undefined): TryOut | undefined {
  if (demo === undefined) return undefined;
  const { stores, configuration, clock } = from;
  return {
    readGoingLive: () => readGoingLive(from, demo.partnerId),
    keyLives() {
      const known = configuration.current().credentials.apiKeys.get(apiKeyId(demo.apiKey, "test") ?? "");
      return known !== undefined && isLive(known, clock.now());
    },
    async causeEvent() {
      const { calendar } = configuration.current();
      const acting = { teachers: stores.teachers, calendar, clock, actor: "service" };
      const key = { by: "regNo", value: triggered.regNo } as const;
      const { event } = await triggerEvent(acting, { eventType: "license.revoked", key });
      return { eventId: event.eventId, eventType: event.eventType };
    },
  };
}

/**
 * What a sandbox can tick off of a partner's way to going live (decision D14.3).
 * @throws TvsError INPUT_UNREADABLE where there is no access log
 */
async function readGoingLive({ stores, configuration }: Read, partnerId: string): Promise<GoingLive> {
  return goingLive({
    partnerId,
    calls: [],
    attestations: await stores.attestations.list({ partnerId, limit: latest.attestations }),
    deliveries: await stores.webhooks.deliveries({ partnerId, state: "delivered", limit: 1 }),
    forgeryTrial: configuration.current().sandbox.forgeryTrial,
  });
}
