import { isoTime } from "../src/domain/clock.ts";
import { findConsole, mintLink } from "../src/domain/console-link.ts";
import { TvsError } from "../src/domain/errors.ts";
import { command, configOf } from "./command.ts";
import { withOperator } from "./open.ts";
import { note, print } from "./terminal/output.ts";

export const consoleCommand = command({
  name: "console",
  description:
    "Print a link that opens the running service's console. It opens once, within five minutes, in a browser on " +
    "the service's own machine; the console itself is opened by `tvs serve --admin-port`",
  example: "tvs console\n  tvs console --json\n  tvs console --data /var/lib/tvs",
  async run({ args }) {
    await withOperator(configOf(args), async ({ stores: { settings }, driver, secrets, clock }) => {
      if (!(await driver.serviceRunning())) {
        throw new TvsError("REFUSED", "no service runs on this data; start `tvs serve --admin-port 9464`");
      }
      const place = await findConsole(settings);
      const { url, expiresAt } = mintLink(secrets, place, clock.now());
      print(args, { url, expiresAt: isoTime(expiresAt) }, () => url);
      if (args.json !== true) note("it opens the console once, within five minutes, on this machine");
    });
  },
});
