/** What the gateway says itself, in the format of the client. */
import type { BackendContext } from '#engine/contract/backend.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { ErrorType, FormatName } from './conversation.ts'
import { FORMATS } from './matrix.ts'
import { type Known, type ListClient, listing } from './routes/models.ts'

/** Of the gateway's own errors, once a backend is asked. */
const ERROR_TYPES: Readonly<Record<number, ErrorType>> = {
  408: 'timeout',
  413: 'tooLarge',
  503: 'overloaded',
  504: 'timeout'
}

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

export function errorText(client: FormatName, status: number, message: string, param: string | null): string {
  const type = status === 400 ? 'invalidRequest' : (ERROR_TYPES[status] ?? 'internal')
  return JSON.stringify(FORMATS[client]!.writeError({ status, type, message, code: null, param }))
}
