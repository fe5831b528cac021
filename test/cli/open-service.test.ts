import { expect, test } from "bun:test";
import { testWebhook } from "../../src/domain/webhooks.ts";
import { startReceiver } from "../delivery/receiver.ts";
import { withTestOperator } from "../harness.ts";
import { makeWebhookWorld, withSender } from "./webhook-world.ts";

test("what a killed service had in hand is sent at the next start, not when its lease ends", async () => {
  const world = await makeWebhookWorld();
  const received = Promise.withResolvers<string>();
  const receiver = await startReceiver((socket, request) => {
    received.resolve(request);
    socket.end("HTTP/1.1 204 No Content\r\n\r\n");
  });
  try {
    await world.addPartner("agency");
    // The service says once that private addresses are allowed; the database remembers it.
    await withSender(world.dataDir, async () => {});
    await world.json(`partners webhook set agency http://127.0.0.1:${receiver.port}/`);
    const { deliveryId } = await withTestOperator(world.dataDir, async (operator) => {
      const sent = await testWebhook(operator, "agency");
      const now = Date.now();
      const lease = { token: "of the dead", now, until: now + 3_600_000 };
      const claims = await operator.outbox.claim([{ partnerId: "agency", limit: 8, except: [] }], lease);
      expect(claims).toHaveLength(1);
      return sent;
    });
    expect(await withSender(world.dataDir, () => received.promise)).toContain(deliveryId);
    expect(await world.json(`webhooks show ${deliveryId}`)).toMatchObject({
      state: "delivered",
      attempts: 1,
    });
  } finally {
    receiver.close();
    await world.remove();
  }
});
