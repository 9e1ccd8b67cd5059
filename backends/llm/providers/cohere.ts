/**
 * Cohere: its own chat (API reference, "Chat", version 2), and its compatibility API ("Using Cohere models via the
 * OpenAI SDK"), which has chat completions and embeddings.
 *
 * By default clients of chat completions get the latter: what they send and get is then theirs, byte for byte, but for
 * what its dialect (compatible.ts) has to change. For others a translation has to be made in any case, and its own chat
 * says more: thoughts and their budget, top-k, citations, tokens as they are charged for. `api` says one for all.
 */
import type { FormatName } from '#backends/llm/conversation.ts'
import type { Makers, Output } from './fields.ts'
import type { ProviderKind, ShortcutParams } from './kind.ts'
import type { Provider } from './provider.ts'

const APIS = ['v2', 'compatibility'] as const

const api = ({ z }: Makers) =>
  z
    .enum(APIS)
    .describe("v2: Cohere's own chat for all clients. Default: that, but compatibility for clients of completions.")

const fields = (make: Makers) => make.z.strictObject({ model: make.modelName(), api: api(make).optional() })

type Cloud = {
  readonly kind: 'cohere'
  /** Null: by the client. */
  readonly api: (typeof APIS)[number] | null
}

export const cohere: ProviderKind<Output<typeof fields>, Cloud> = {
  name: 'cohere',
  schema: fields,
  hasDialect: true,
  dialect: 'cohere',
  cacheMarks: 'never',
  shortcut: {
    names: ['cohere'],
    params: {
      cohereApi: { schema: ({ z }) => z.enum(APIS).optional().describe('Of cohere, as its api.') }
    },
    check: checked,
    fields: ({ cohereApi }) => ({ api: cohereApi })
  },
  translate: ({ api = null }) => ({ cloud: { kind: 'cohere', api } }),
  compile: ({ cloud }) => compile(cloud)
}

/** Both APIs have their own beginnings, so that an address can have none but these. */
const OWN_PATH = /^https?:\/\/[^/]+(?:\/|\/v1\/?|\/v2\/?|\/compatibility\/v1\/?)?$/

function checked({ baseUrl, pathPrefix }: ShortcutParams) {
  const message = "must be the address without a path: each of Cohere's APIs has its own"
  if (typeof baseUrl === 'string' && !OWN_PATH.test(baseUrl)) return { key: 'baseUrl', message }
  return pathPrefix === undefined ? null : { key: 'pathPrefix', message: "has no place: Cohere's APIs have their own" }
}

const PATHS: Partial<Record<FormatName, string>> = {
  completions: '/compatibility/v1/chat/completions',
  cohereV2: '/v2/chat'
}

function compile({ api }: Cloud): Provider {
  return {
    name: 'cohere',
    host: 'api.cohere.com',
    formats: () => (api === 'compatibility' ? ['completions'] : ['cohereV2', 'completions']),
    ...(api === 'v2' ? { chatFormat: 'cohereV2' } : {}),
    target: (format) => PATHS[format]!,
    keyField: () => 'authorization',
    fields: []
  }
}
