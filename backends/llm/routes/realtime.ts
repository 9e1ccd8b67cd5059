/**
 * OpenAI's Realtime API over WebSocket: the upgrade goes to the provider with its key and its name of the model, and
 * what follows is a pipe, of which one side is heard (realtime-usage.ts). Source: OpenAI, "Realtime API with
 * WebSocket".
 */

import { operationFormat } from '#backends/llm/capabilities.ts'
import { FormatError } from '#backends/llm/formats/format.ts'
import type { ResolvedProvider } from '#backends/llm/plan/request-plan.ts'
import { address, providerModel } from '#backends/llm/request/provider-request.ts'
import { References } from '#backends/llm/stored/references.ts'
import { type KeptIds, NO_KEPT_IDS, type StoreAccess } from '#backends/llm/stored/stores.ts'
import { NONE_DROPPED } from '#backends/llm/translate/dropped-fields.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import { type ActiveOperation, besideChat, type HeadOperationKind, type SentOperation } from './operation.ts'
import { RealtimeTap } from './realtime-usage.ts'

const CALL = 'call_id'

/** How a page in a browser shows its key: it can set no Authorization. */
const KEY_PROTOCOL = 'openai-insecure-api-key.'

declare module './answer-spec.ts' {
  interface OperationRoutes {
    Realtime: 'head'
  }
}

export const realtime: HeadOperationKind = {
  type: 'Realtime',
  pathEnds: ['/realtime'],
  isStrict: true,
  name: 'realtime',
  client: () => 'completions',
  guarded: () => null,
  begin: (ex, stored) => new Realtime(ex, stored),
  isKept: ({ query }) => new URLSearchParams(query).has(CALL),
  modelOf: ({ query }) => new URLSearchParams(query).get('model') ?? ''
}

class Realtime implements ActiveOperation {
  readonly client = 'completions'
  readonly isStrict = true
  readonly name = 'realtime'
  readonly listen = (ex: Exchange) => new RealtimeTap(ex)
  readonly kept: KeptIds
  readonly #model: string
  readonly #query: URLSearchParams

  /** Throws FormatError. */
  constructor({ upgrade, query, request }: Exchange, stored: () => StoreAccess) {
    if (upgrade !== 'websocket') throw new FormatError('', 'the realtime API is spoken over a WebSocket')
    this.#query = new URLSearchParams(query)
    this.#model = this.#query.get('model') ?? ''
    const call = this.#query.get(CALL)
    this.kept = call === null ? NO_KEPT_IDS : this.#openCall(call, stored())
    showKey(request)
  }

  /** Beside a call that goes over WebRTC: it is where that was begun (docs/llm-objects.md). */
  #openCall(call: string, access: StoreAccess): KeptIds {
    const references = new References(access)
    this.#query.set(CALL, references.open(call, 'call', CALL))
    const { store } = references
    return { store, access: null, isAny: store === null }
  }

  write(ex: Exchange, to: ResolvedProvider): SentOperation {
    const format = operationFormat('realtime', to, this.#model)
    const query = new URLSearchParams(this.#query)
    // A call that exists already has its model.
    if (!query.has(CALL) && query.get('intent') !== 'transcription')
      query.set('model', providerModel(this.#model, to.settings.model, to.aliases))
    const target = besideChat(to, format, this.#model, '/realtime')
    const text = query.toString()
    const joint = target.includes('?') ? '&' : '?'
    address(ex, to.provider, { target: text === '' ? target : `${target}${joint}${text}`, query: '', isNative: true })
    ex.method = 'GET'
    for (const name of ['content-type', 'accept-encoding']) ex.request.remove(name)
    // Compressed messages (RFC 7692) could not be read for what they cost.
    ex.request.remove('sec-websocket-extensions')
    const model = this.#model === '' ? null : providerModel(this.#model, to.settings.model, to.aliases)
    return { lost: NONE_DROPPED, model, providerFormat: 'completions', isNative: true, answerSpec: null }
  }
}

/** A key among the protocols that a client offers becomes the credential that it is. */
function showKey(request: HeaderBlock): void {
  const { credential, rest } = split(request.get('sec-websocket-protocol') ?? '')
  if (credential === null) return
  if (request.get('authorization') === undefined) request.append('Authorization', `Bearer ${credential}`)
  if (rest === '') request.remove('sec-websocket-protocol')
  else request.set('Sec-WebSocket-Protocol', rest)
}

/** The key among the protocols that a client offers, and the others. */
function split(offered: string): { readonly credential: string | null; readonly rest: string } {
  const names = offered.split(',').map((name) => name.trim())
  const isKey = (name: string): boolean => name.toLowerCase().startsWith(KEY_PROTOCOL)
  const key = names.find(isKey)
  const rest = names.filter((name) => !isKey(name)).join(', ')
  return { credential: key === undefined ? null : key.slice(KEY_PROTOCOL.length), rest }
}
