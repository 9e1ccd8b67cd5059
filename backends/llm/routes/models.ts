/**
 * Lists of models: those that the configuration names, or else the provider's own; as OpenAI's, Anthropic's or
 * Gemini's clients read them. Sources: OpenAI, "Models"; Anthropic, "List Models"; ai.google.dev, "Models".
 */

import { operationFormat } from '#backends/llm/capabilities.ts'
import type { AiBackend } from '#backends/llm/config/snapshot.ts'
import type { Json, JsonObject } from '#backends/llm/conversation.ts'
import { Fields } from '#backends/llm/formats/fields.ts'
import type { ResolvedProvider } from '#backends/llm/plan/request-plan.ts'
import { asksModel } from '#backends/llm/request/model-path.ts'
import { address } from '#backends/llm/request/provider-request.ts'
import { NONE_DROPPED } from '#backends/llm/translate/dropped-fields.ts'
import { BODY_NONE, type Exchange } from '#engine/contract/exchange.ts'
import type { AnswerSpec, ListClient } from './answer-spec.ts'
import { type ActiveOperation, besideChat, type HeadOperationKind, type SentOperation } from './operation.ts'

/** How the provider's own list is read. */
export interface ModelsAnswerSpec extends AnswerSpec {
  readonly of: 'Models'
  readonly client: ListClient
  readonly providerFormat: ListClient | 'responses'
  /** One model was asked for. */
  readonly isOne: boolean
  /** The provider's name. */
  readonly owner: string
}

export const models: HeadOperationKind<ModelsAnswerSpec> = {
  type: 'Models',
  pathEnds: ['/models'],
  // A list also has its entries: /v1/models/NAME.
  goesOn: (path) => !asksModel(path),
  isStrict: false,
  name: null,
  client: listClient,
  guarded: () => 'nothing',
  begin: (ex) => new ProviderModels(ex),
  answer: modelsAnswer
}

/** What a provider lists as many as possible for. */
const WHOLE = { completions: '', responses: '', messages: '?limit=1000', gemini: '?pageSize=1000' } as const
const ONE = /\/models\/(.+)$/
/** Of what the configuration lists: it does not say when a model was made. */
const EPOCH = '1970-01-01T00:00:00Z'

/** Anthropic's clients send their version with every request, and Gemini's path is their own. */
export function listClient({ path, request }: Pick<Exchange, 'path' | 'request'>): ListClient {
  if (/\/v1beta\/models(?:\/|$)/.test(path)) return 'gemini'
  return request.get('anthropic-version') === undefined ? 'completions' : 'messages'
}

/** Names that clients may use, as far as `backend` says them; patterns name nothing. */
export function namedModels({ groups, modelAliases }: AiBackend): readonly string[] {
  const fixed = groups.flat().flatMap(({ model }) => (model === null ? [] : [model]))
  return [...new Set([...Object.keys(modelAliases), ...fixed])].filter((name) => !name.includes('*'))
}

/** What a configuration says of its models. */
export interface ModelNames {
  readonly names: readonly string[]
  /** Whether a name that is not listed is served nevertheless: patterns stand for many. */
  readonly isServed: (name: string) => boolean
}

/** The list, or the one model that the path ends with; null: there is no such model. */
export function modelList(
  client: ListClient,
  path: string,
  { names, isServed }: ModelNames,
  owner: string
): JsonObject | null {
  const wanted = modelIn(path)
  if (wanted === null)
    return list(
      client,
      names.map((name) => entry(client, name, owner))
    )
  return names.includes(wanted) || isServed(wanted) ? entry(client, wanted, owner) : null
}

/** The model that the path ends with; null: all are asked for. */
export function modelIn(path: string): string | null {
  const one = ONE.exec(path)?.[1]
  return one === undefined ? null : decodedOrRaw(one)
}

function decodedOrRaw(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function entry(client: ListClient, name: string, owner: string): JsonObject {
  if (client === 'messages') return { type: 'model', id: name, display_name: name, created_at: EPOCH }
  if (client === 'gemini') {
    const methods = ['generateContent', 'countTokens', 'embedContent']
    return { name: `models/${name}`, displayName: name, supportedGenerationMethods: methods }
  }
  return { id: name, object: 'model', created: 0, owned_by: owner }
}

function list(client: ListClient, data: readonly JsonObject[]): JsonObject {
  if (client === 'gemini') return { models: data }
  if (client === 'completions') return { object: 'list', data }
  return { data, has_more: false, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null }
}

/** The provider's own list. */
class ProviderModels implements ActiveOperation {
  readonly client: ListClient
  readonly isStrict = false
  readonly name = null
  readonly #one: string | null
  readonly #query: string

  constructor(ex: Exchange) {
    this.client = listClient(ex)
    this.#query = ex.query
    this.#one = ONE.exec(ex.path)?.[1] ?? null
  }

  write(ex: Exchange, to: ResolvedProvider): SentOperation {
    const { provider } = to
    const { client } = this
    const providerFormat = operationFormat('models', to, '', client)
    const isNative = client === (providerFormat === 'responses' ? 'completions' : providerFormat)
    const end = providerFormat === 'gemini' ? ':generateContent' : '/models'
    const base = besideChat(to, providerFormat, '', end).replace(/\/?:generateContent$|\/deployments\/[^/]*/, '')
    const target = this.#one === null ? base : `${base}/${this.#one}`
    const query = isNative ? this.#query : this.#one === null ? WHOLE[providerFormat] : ''
    address(ex, provider, { target, query, isNative })
    ex.method = 'GET'
    ex.requestBody = BODY_NONE
    ex.request.remove('content-type')
    const spec = { of: 'Models', client, providerFormat, isOne: this.#one !== null, owner: provider.name } as const
    const answerSpec = isNative ? null : spec
    return { lost: NONE_DROPPED, model: null, providerFormat, isNative, answerSpec }
  }
}

/** For a client of another format. Throws FormatError. */
function modelsAnswer({ client, providerFormat, isOne, owner }: ModelsAnswerSpec, body: Json): JsonObject {
  const answer = Fields.of(body, '')
  const name = (one: Fields): string =>
    providerFormat === 'gemini' ? one.string('name').replace(/^models\//, '') : one.string('id')
  const translated = (one: Fields): JsonObject => entry(client, name(one), owner)
  if (isOne) return translated(answer)
  return list(client, answer.objects(providerFormat === 'gemini' ? 'models' : 'data').map(translated))
}
