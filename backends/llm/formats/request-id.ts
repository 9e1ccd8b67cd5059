/** The id of a request, as clients of models know it. */
import type { FormatName } from '#backends/llm/conversation.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { requestIdOf } from '#engine/contract/request-id.ts'
import { FORMATS } from './index.ts'

/** What a provider may give for an id. */
const ID = /^[\w.:-]{1,128}$/

/** The field for the client of `ex`. `isTheirs`: a provider that has answered knows its answer by its own id. */
export function idFor(ex: Exchange, client: FormatName): { field: string; id: string; isTheirs: boolean } {
  const field = FORMATS[client].idField ?? 'x-request-id'
  const sent = ex.response?.get(field) ?? ''
  const isTheirs = ID.test(sent)
  return { field, id: isTheirs ? sent : requestIdOf(ex), isTheirs }
}
