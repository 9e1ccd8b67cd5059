/** What the gateway says itself, in the format of the client. */
import type { BackendContext } from '#engine/contract/backend.ts'
import type { Dialect, Exchange } from '#engine/contract/exchange.ts'
import type { FormatName, JsonObject } from './conversation.ts'
import { errorTypeOf } from './formats/error-types.ts'
import { FORMATS } from './matrix.ts'
import { type Known, type ListClient, listing } from './routes/models.ts'

/** Answers with the models that the configuration names. */
export function listModels(
  ex: Exchange,
  { reply }: Pick<BackendContext, 'reply'>,
  client: ListClient,
  known: Known
): void {
  const list = listing(client, ex.path, known, 'weir')
  const message = 'there is no such model'
  const body = JSON.stringify(
    list ??
      FORMATS[client]!.writeError({ status: 404, type: 'notFound', message, code: 'model_not_found', param: null })
  )
  reply(ex, { status: list === null ? 404 : 200, body, contentType: 'application/json', headers: null })
}

/** An error of the gateway's own; `param`: the field that it is about, or null. */
export function errorText(client: FormatName, status: number, message: string, param: string | null): string {
  return JSON.stringify(errorBody(client, status, message, param))
}

function errorBody(client: FormatName, status: number, message: string, param: string | null): JsonObject {
  // What OpenAI says of a key that it does not know; its type is that of every 4xx.
  const code = status === 401 && OPENAI.has(client) ? 'invalid_api_key' : null
  return FORMATS[client]!.writeError({ status, type: errorTypeOf(status), message, code, param })
}

const OPENAI: ReadonlySet<FormatName> = new Set<FormatName>(['completions', 'responses'])

/** The header in which clients look for the id of a request; those of others do as OpenAI's. */
const ID_FIELDS: { readonly [format in FormatName]?: string } = {
  messages: 'request-id',
  converse: 'x-amzn-requestid'
}
/** What a caller may give for an id. */
const ID = /^[\w.:-]{1,128}$/

/** Refusals of `ex` in the words of `client`, with an id that the log has too. */
export function dialectOf(client: FormatName, ex: Exchange): Dialect {
  return (status, message) => {
    const given = ex.request.get('x-request-id') ?? ''
    const id = ID.test(given) ? given : `req_${crypto.randomUUID().replaceAll('-', '')}`
    ex.errorDetail ??= `request ${id}`
    const body = errorBody(client, status, message, null)
    const told = client === 'messages' ? { ...body, request_id: id } : body
    return { body: JSON.stringify(told), headers: [ID_FIELDS[client] ?? 'x-request-id', id] }
  }
}
