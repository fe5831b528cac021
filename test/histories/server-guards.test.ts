import { driverKinds } from "../harness/drivers.ts";
import { describeGuards } from "./guards.ts";

const kinds = driverKinds.filter(({ name }) => name === "libSQL server");
describeGuards("histories-guards", kinds, 2);
