/** What is done with an answer to a tenant before it goes on: a list is told apart, what is made is written down. */
import type { Json } from '#backends/llm/conversation.ts'
import type { FinishedAnswer } from '#backends/llm/routes/operation.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { ObjectOwners } from '#engine/contract/object-owners.ts'
import { withResults } from './answer.ts'
import type { StoredApi } from './apis.ts'
import { forgetObject, noteObjects } from './owners.ts'
import type { Seal } from './seal.ts'
import { type AskPage, type TenantList, UnreadableList } from './tenant-list.ts'

interface FinishedCall {
  readonly api: StoredApi
  readonly list: TenantList | null
  /** Of the client. */
  readonly method: string
  readonly seal: Seal
  readonly owners: ObjectOwners
  /** As of StoredAnswerSpec. */
  readonly here: string | null
}

/** What says how many objects there are, and where others are. */
const TELLING_FIELDS = ['link', 'x-total-count', 'etag', 'last-modified']

const AWAY = 'whose the objects are cannot be looked up at the moment (config.state): try again'

/** Null: the answer goes on as it is. Never rejects. */
export async function finishStored(
  ex: Exchange,
  bytes: Buffer,
  { api, list, method, seal, owners, here }: FinishedCall,
  ask: AskPage
): Promise<FinishedAnswer | null> {
  const body = parsed(bytes)
  if (list === null) {
    try {
      if (method === 'DELETE') await forgetObject({ body, path: ex.path }, api.kind, seal, owners)
      else await noteObjects(body, api.kind, seal, owners)
    } catch {
      // The object is there, and its id works: it is noted when it is next asked for.
    }
    return null
  }
  for (const name of TELLING_FIELDS) ex.response?.remove(name)
  try {
    const made = await list.read(body, list.query, { seal, owners, ask })
    return { bytes: Buffer.from(JSON.stringify(here === null ? made : withResults(made, here))) }
  } catch (error) {
    if (error instanceof UnreadableList) return { status: 502, message: `the provider's list: ${error.message}` }
    return { status: 503, message: AWAY }
  }
}

/** Null: it is no JSON. */
function parsed(bytes: Buffer): Json {
  try {
    return JSON.parse(bytes.toString()) as Json
  } catch {
    // The client may judge it; a list that is none is refused.
    return null
  }
}
