/** The signed status lists for everybody (decision D15.1): each list, where they are, and all that is needed offline. */

import { ttlSeconds } from "../domain/status-list/lists.ts";
import { documentReply } from "../http/public-document.ts";
import type { PublicHandler } from "./public-api.ts";

const asStatusList = `public, max-age=${ttlSeconds}`;

export const statusList: PublicHandler = async (call, { statusLists }) =>
  documentReply(call, await statusLists.list(call.pathPart("list")), asStatusList);

export const statusLists: PublicHandler = async (call, on) =>
  documentReply(call, await on.statusLists.aggregation(), asStatusList);

export const offlinePack: PublicHandler = async (call, { statusLists: documents }) =>
  documentReply(call, await documents.pack(), asStatusList);
