/** What the gateway says itself, in the format of the client. */

import type { FormatName, JsonObject } from '#backends/llm/conversation.ts'
import { typeOfStatus } from '#backends/llm/formats/error-types.ts'
import { idFor } from '#backends/llm/formats/request-id.ts'
import type { ListClient } from '#backends/llm/routes/answer-spec.ts'
import { type ModelNames, modelIn, modelList } from '#backends/llm/routes/models.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import { LATER_AGAIN } from '#engine/contract/body.ts'
import type { Dialect, Exchange, LocalReply } from '#engine/contract/exchange.ts'
import { noSuchModel } from './no-such-model.ts'
import { clientError } from './vendor-errors.ts'

/** Answers with the models that the configuration names. */
export function listModels(
  ex: Exchange,
  { reply }: Pick<BackendContext, 'reply'>,
  client: ListClient,
  known: ModelNames
): void {
  const list = modelList(client, ex.path, known, 'weir')
  if (list === null) reply(ex, refusalReply(ex, client, noModel(ex)))
  else reply(ex, { status: 200, body: JSON.stringify(list), contentType: 'application/json', headers: null })
}

function noModel({ path }: Exchange): Refusal {
  return { status: 404, message: noSuchModel(modelIn(path) ?? ''), code: 'model_not_found', param: null }
}

/** What the gateway refuses `ex` for; `param`: the field that it is about, or null. */
export interface Refusal {
  readonly status: number
  readonly message: string
  readonly code: string | null
  readonly param: string | null
}

/** A refusal of `ex` in the words of `client`, with an id that the log has too. */
export function refusalReply(ex: Exchange, client: FormatName, refusal: Refusal): LocalReply {
  const { body, headers } = errorBody(ex, client, refusal)
  return { status: refusal.status, body: JSON.stringify(body), contentType: 'application/json', headers }
}

/** Body, and header fields beside those of the refusal. */
export function errorBody(
  ex: Exchange,
  client: FormatName,
  refusal: Refusal
): { readonly body: JsonObject; readonly headers: readonly [string, string] } {
  const { field, id, isTheirs } = idFor(ex, client)
  if (isTheirs) ex.errorDetail ??= `the provider's id is ${id}`
  // OpenAI says of money what it says of nothing else.
  const isMoney = refusal.code === 'BUDGET_EXCEEDED' && OPENAI.has(client)
  const type = isMoney ? 'quota' : typeOfStatus(refusal.status)
  return { body: clientError(ex, client, { ...refusal, type }, id), headers: [field, id] }
}

const OPENAI: ReadonlySet<FormatName> = new Set<FormatName>(['completions', 'responses'])

/** The same where others than models refuse. */
export function errorDialectOf(client: FormatName, ex: Exchange): Dialect {
  return (status, message, known) => {
    // What OpenAI says of a key that it does not know; its type is that of every 4xx.
    const code = known ?? (status === 401 && OPENAI.has(client) ? 'invalid_api_key' : null)
    const { body, headers } = errorBody(ex, client, { status, message, code, param: null })
    return { body: JSON.stringify(body), headers: isLater(ex, status) ? [...headers, ...LATER_AGAIN] : headers }
  }
}

/** Clients of models ask again by themselves: they are told when, also where what refuses does not say. */
function isLater({ refusalHeaders }: Exchange, status: number): boolean {
  return status === 503 && !(refusalHeaders ?? []).some((field) => field.toLowerCase() === 'retry-after')
}
