import { setMainUrl } from "../../cli/program.ts";
import { prepareSandbox } from "../../cli/sandbox/sandbox.ts";
import { openService } from "../../cli/serve/open-service.ts";
import { createApp } from "../../src/app.ts";
import { readServeConfig } from "../../src/config.ts";
import { triggerRevocation } from "../../src/domain/sandbox/trigger.ts";
import { serve } from "../../src/http/serve.ts";
import { makeFolder } from "../harness/folder.ts";

export type TestSite = Awaited<ReturnType<typeof openSite>>;

/**
 * Opens the sandbox as `serve --sandbox` composes it, with teachers and demo key, on a free port. The sandbox runs in the
 * test's process, so that a test can close a part. A browser with the clock of another year needs `statusList: false`.
 */
export async function openSite({ statusList = true } = {}) {
  const folder = makeFolder();
  const config = readServeConfig({ data: folder.path, sandbox: true, "public-per-minute": "100000" }, {});
  const opening = Promise.withResolvers<ReturnType<typeof createApp>>();
  const listener = await serve(opening.promise, {
    host: "127.0.0.1",
    port: 0,
    onError: (error) => console.error(error),
  });
  const opened = await openService(config, { defaultIssuer: listener.url });
  const { operator, service } = opened;
  // The sandbox prints commands that begin with the path of main.ts, but this process runs another file.
  setMainUrl(new URL("../../cli/main.ts", import.meta.url));
  const { demo } = await prepareSandbox(operator, listener.url);
  if (!statusList) await operator.stores.settings.write({ status_list: "off" });
  await service.configuration.refresh();
  const causeEvent = () => triggerRevocation({ ...operator, ...service });
  opening.resolve(createApp(service, { ...config, demo, causeEvent }));

  async function close() {
    await listener.close();
    await opened.close();
    await folder.remove();
  }

  return { url: listener.url, dataDir: folder.path, operator, service, demo, close };
}
