import type { Config } from "../src/config.ts";
import { openApiDocument } from "../src/server/openapi/document.ts";
import { command, configOf } from "./command.ts";
import { note, print } from "./terminal/output.ts";

const defaultIssuer = "http://127.0.0.1:8080";

export const openapiCommand = command({
  name: "openapi",
  description: "Print the OpenAPI 3.1 document, as /v1/inter-agency/openapi.json serves it",
  example: "tvs openapi --issuer https://verify.example.gov > openapi.json",
  args: {
    issuer: {
      type: "string",
      valueHint: "URL",
      description: "The service's public URL (default: what the database remembers)",
    },
  },
  async run({ args }) {
    const document = openApiDocument(await issuerOf(configOf(args)));
    print(args, document, () => JSON.stringify(document, null, 2));
  },
});

/** What the command was told, else what a service over this database was; a database is never made for this. */
async function issuerOf(config: Config): Promise<string> {
  if (config.issuer !== undefined) return config.issuer;
  const { hasDatabase, noRegister } = await import("./register.ts");
  if (!hasDatabase(config)) {
    note(`${noRegister(config).message}; without one, the document names ${defaultIssuer} (--issuer URL)`);
    return defaultIssuer;
  }
  const { withOperator } = await import("./open.ts");
  return withOperator(config, async ({ settingsInForce }) => settingsInForce.issuer);
}
