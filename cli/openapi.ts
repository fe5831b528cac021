import { buildOpenApiDocument } from "../src/api/openapi.ts";
import type { Config } from "../src/config.ts";
import { initialIssuer, type Settings } from "../src/domain/settings.ts";
import { defaultSite } from "../src/domain/site.ts";
import { configOf, option } from "./command.ts";
import { withRegister } from "./open.ts";
import { defineTvsCommand } from "./operator-command.ts";
import { hasDatabase, missingRegisterError } from "./register/register.ts";
import { printNote, printResult } from "./terminal/output.ts";

export const openapiCommand = defineTvsCommand("openapi", {
  args: { issuer: option("URL") },
  async run({ args }) {
    const { issuer, site } = await describedBy(configOf(args));
    const document = buildOpenApiDocument(issuer, site);
    printResult(args, document, () => JSON.stringify(document, null, 2));
  },
});

/** Reads the document's issuer and site from the database. Without a database, `--issuer` and the default site are used. */
async function describedBy(config: Config): Promise<Pick<Settings, "issuer" | "site">> {
  if (hasDatabase(config)) return withRegister(config, async ({ settingsInForce }) => settingsInForce);
  if (config.issuer === undefined)
    printNote(
      `${missingRegisterError(config).message}; without one, the document names ${initialIssuer} (--issuer URL)`,
    );
  return { issuer: config.issuer ?? initialIssuer, site: defaultSite };
}
