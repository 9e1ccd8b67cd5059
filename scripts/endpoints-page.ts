/**
 * docs/llm-endpoints.md: what each provider has of what clients ask for, and how that is proven. Cells are what Weir
 * does with a request; marks are of recorded.json, the clients' suite and endpoint-sources.ts. npm run matrix --
 * --write puts it there.
 */
import { ok } from 'node:assert/strict'
import { backends } from '#backends/index.ts'
import type { AiBackend } from '#backends/llm/config/snapshot.ts'
import type { ClientFormat } from '#backends/llm/conversation.ts'
import { ModelPatterns } from '#backends/llm/edits/model-patterns.ts'
import { FormatError } from '#backends/llm/formats/format.ts'
import { formatFor } from '#backends/llm/formats/index.ts'
import type { ResolvedProvider } from '#backends/llm/plan/request-plan.ts'
import { COMPATIBLE, type CompatibleService } from '#backends/llm/providers/compatible.ts'
import { dialectFor } from '#backends/llm/providers/dialects.ts'
import { compileProvider } from '#backends/llm/providers/index.ts'
import { isKnown, serviceNamed } from '#backends/llm/providers/services.ts'
import { operationOf } from '#backends/llm/routes/index.ts'
import { LargeOperation } from '#backends/llm/routes/large-operation.ts'
import { loadConfig } from '#engine/standalone/load.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { policies } from '#policies/index.ts'
import { type Column, isCited, SOURCES } from './endpoint-sources.ts'
import { SDK_PROOFS } from './llm-clients/proofs.ts'
import { type Recorded, readRecorded } from './recordings/recorded.ts'

export const ENDPOINTS_FILE = new URL('../docs/llm-endpoints.md', import.meta.url)

interface Row {
  /** Of compatible.ts, or a kind. */
  readonly name: string
  readonly title: string
  readonly provider: string
  readonly params: object
  readonly models: { readonly chat: string; readonly embeddings?: string; readonly rerank?: string }
}

const VERTEX = { vertexProject: 'p', vertexRegion: 'global' }
const kind = (name: string, chat: string, more: Partial<Row> = {}): Row => ({
  ...{ name, title: `\`${name}\``, provider: name, params: {}, models: { chat } },
  ...more
})

const KINDS: readonly Row[] = [
  kind('openai', 'gpt-5'),
  kind('azureopenai', 'gpt-5', { provider: 'azure', params: { azureResourceName: 'r' } }),
  kind('anthropic', 'claude-opus-4-5'),
  kind('gemini', 'gemini-3-pro', { models: { chat: 'gemini-3-pro', embeddings: 'gemini-embedding-001' } }),
  kind('vertexai', 'gemini-3-pro', {
    ...{ title: '`vertexai`: Gemini', provider: 'vertex', params: VERTEX },
    models: { chat: 'gemini-3-pro', embeddings: 'gemini-embedding-001', rerank: 'semantic-ranker-default-004' }
  }),
  kind('vertexai', 'claude-opus-4-5', { title: '`vertexai`: Claude', provider: 'vertex', params: VERTEX }),
  kind('bedrock', 'amazon.nova-pro-v1:0', {
    models: { chat: 'amazon.nova-pro-v1:0', embeddings: 'cohere.embed-v4:0', rerank: 'cohere.rerank-v3-5:0' }
  }),
  kind('replicate', 'meta/meta-llama-3-8b-instruct')
]

/** Parameters that a name needs. */
const NEEDS: Readonly<Record<string, object>> = {
  watsonx: { baseUrl: 'https://us-south.ml.cloud.ibm.com', watsonxProject: 'p' }
}

function rowOf([name, { baseUrl, example }]: [string, CompatibleService]): Row {
  const address = baseUrl === undefined && example !== undefined ? { baseUrl: example } : {}
  return kind(name, 'm', { params: NEEDS[name] ?? address })
}

/** In the order of the page. */
export const ROWS: readonly Row[] = [
  ...KINDS,
  ...Object.entries<CompatibleService>(COMPATIBLE)
    .filter(([name]) => name !== 'openai')
    .map(rowOf)
]

function recipient({ name, provider, params, models }: Row): ResolvedProvider {
  const file = JSON.stringify({ llm: { models: [{ name: 'm', provider, params }] } })
  const loaded = loadConfig(file, { file: 'endpoints', env: {}, policies, backends })
  if (!loaded.ok) throw new Error(`${name}: ${JSON.stringify(loaded.errors)}`)
  const [backend] = Object.values(loaded.snapshot.backends) as unknown as { models: { backend: AiBackend }[] }[]
  const settings = backend?.models[0]?.backend.groups[0]?.[0]
  ok(settings !== undefined)
  const { dialect, host } = settings
  return {
    settings,
    service: serviceNamed(dialect ?? settings.type, host),
    provider: compileProvider(settings),
    aliases: new ModelPatterns([['*', models.chat]]),
    learned: { dialect: dialectFor(dialect, host ?? '') },
    account: { name: settings.name, store: { tag: 'aaaa', key: Buffer.alloc(32) } }
  }
}

type Word = 'native' | 'converted' | 'passed on' | 'none'

interface EndpointColumn {
  readonly title: string
  readonly column: Column
  word(to: ResolvedProvider, row: Row): Word
  /** Of recorded.json: what exchanges are counted by. */
  recorded(to: ResolvedProvider, row: Row): string
}

/** They embed and rank. */
const WITHOUT_CHAT: ReadonlySet<string> = new Set(['jina', 'tei', 'voyage'])

const chat = (title: string, client: ClientFormat): EndpointColumn => ({
  title,
  column: 'chat',
  word: ({ provider }, { name, models }) => {
    if (WITHOUT_CHAT.has(name)) return 'passed on'
    return formatFor(provider, client, models.chat) === client ? 'native' : 'converted'
  },
  recorded: ({ provider }, { models }) => formatFor(provider, client, models.chat)
})

const FORM_TYPE = 'multipart/form-data; boundary=b'
const FORM = '--b\r\nContent-Disposition: form-data; name="model"\r\n\r\nm\r\n--b--\r\n'

type Type = Parameters<typeof operationOf>[0]

function other(
  title: string,
  column: Column,
  type: Type,
  asks: readonly (readonly [path: string, body: object | string])[]
): EndpointColumn {
  return {
    title,
    column,
    word: (to, row) => {
      const model = row.models[column as 'embeddings' | 'rerank']
      const meant = model === undefined ? to : { ...to, aliases: new ModelPatterns([['*', model]]) }
      const words = asks.map(([path, body]) => wordOf(type, path, body, meant))
      const best = (['native', 'converted'] as const).find((word) => words.includes(word)) ?? 'none'
      if (column === 'texts' && WITHOUT_CHAT.has(row.name)) return 'passed on'
      const isFact = best !== 'native' || column === 'texts' || isKnown(to.service) || KINDS.includes(row)
      return isFact ? best : 'passed on'
    },
    recorded: () => column
  }
}

function wordOf(type: Type, target: string, body: object | string, to: ResolvedProvider): Word {
  const isForm = typeof body === 'string'
  const ex = fakeExchange({ method: 'POST', target, headers: isForm ? [['Content-Type', FORM_TYPE]] : [] })
  ex.upgrade = type === 'Realtime' ? 'websocket' : null
  try {
    const operation = operationOf(type, ex, Buffer.from(isForm ? body : JSON.stringify(body)))
    ok(!(operation instanceof LargeOperation))
    return operation.write(ex, to).isNative ? 'native' : 'converted'
  } catch (error) {
    if (error instanceof FormatError) return 'none'
    throw error
  }
}

const RANK = { model: 'm', query: 'Hi', documents: ['a'] }
const STORED = ['/v1/files/ID', '/v1/responses/ID', '/v1/messages/batches/ID', '/v1beta/files/ID'] as const

export const ENDPOINT_COLUMNS: readonly EndpointColumn[] = [
  chat('chat: OpenAI', 'completions'),
  chat('Responses', 'responses'),
  chat('Messages', 'messages'),
  chat('Gemini', 'gemini'),
  other('older completions', 'texts', 'TextCompletions', [['/v1/completions', { model: 'm', prompt: 'Hi' }]]),
  other('embeddings', 'embeddings', 'Embeddings', [['/v1/embeddings', { model: 'm', input: 'Hi' }]]),
  other('rerank', 'rerank', 'Rerank', [
    ['/v1/rerank', RANK],
    ['/v2/rerank', RANK]
  ]),
  other('transcriptions', 'transcriptions', 'Transcriptions', [['/v1/audio/transcriptions', FORM]]),
  other('speech', 'speech', 'Speech', [['/v1/audio/speech', { model: 'm', voice: 'alloy', input: 'Hi' }]]),
  other('images', 'images', 'ImageGenerations', [['/v1/images/generations', { model: 'm', prompt: 'Hi' }]]),
  other('moderations', 'moderations', 'Moderations', [['/v1/moderations', { model: 'm', input: 'Hi' }]]),
  other(
    'files, batches, answers',
    'stored',
    'Stored',
    STORED.map((path) => [path, ''])
  ),
  other('realtime', 'realtime', 'Realtime', [['/v1/realtime?model=m', {}]])
]

export interface Cell {
  readonly word: Word
  /** How it is proven; null: nothing is claimed. */
  readonly proof: number | 'SDK' | 'reference' | 'not cited' | null
}

/** `name` -> what -> exchanges, of all repositories. */
function exchangesOf(recorded: Recorded, name: string, what: string): number {
  return Object.values(recorded).reduce((sum, { exchanges }) => sum + (exchanges[name]?.[what] ?? 0), 0)
}

export function cellOf(row: Row, endpoint: EndpointColumn, recorded: Recorded, to = recipient(row)): Cell {
  const word = endpoint.word(to, row)
  if (word === 'passed on') return { word, proof: null }
  if (word !== 'none') {
    // Recorded on Vertex AI are Google's models, by their format.
    const count = exchangesOf(recorded, row.name, endpoint.recorded(to, row))
    if (count > 0 && !(endpoint.column === 'texts' && word === 'converted')) return { word, proof: count }
    if (SDK_PROOFS.some(({ title, column }) => title === row.title && column === endpoint.column))
      return { word, proof: 'SDK' }
  }
  // Texts that are gone on with by a chat.
  const column = endpoint.column === 'texts' && word === 'converted' ? 'chat' : endpoint.column
  return { word, proof: isCited(row.name, column) ? 'reference' : 'not cited' }
}

const shown = ({ word, proof }: Cell): string => (proof === null ? word : `${word}: ${proof}`)

function tableOf(recorded: Recorded): string[] {
  const rows = ROWS.map((row) => {
    const to = recipient(row)
    return `| ${row.title} | ${ENDPOINT_COLUMNS.map((endpoint) => shown(cellOf(row, endpoint, recorded, to))).join(' | ')} |`
  })
  const head = `| provider | ${ENDPOINT_COLUMNS.map(({ title }) => title).join(' | ')} |`
  return [head, `|---|${ENDPOINT_COLUMNS.map(() => '---|').join('')}`, ...rows]
}

function repositoriesOf(recorded: Recorded): string[] {
  const rows = Object.entries(recorded).map(([name, { commit, date, exchanges }]) => {
    const counts = Object.values(exchanges).flatMap((of) => Object.values(of))
    const sum = counts.reduce((total, count) => total + count, 0)
    const at = `[${commit.slice(0, 8)}](https://github.com/${name}/tree/${commit})`
    return `| [${name}](https://github.com/${name}) | ${at} | ${date} | ${sum} | ${Object.keys(exchanges).length} |`
  })
  return ['| repository | commit | of | exchanges | providers |', '|---|---|---|--:|--:|', ...rows]
}

function sourcesOf(): string[] {
  const rows = Object.entries(SOURCES).flatMap(([name, pages]) =>
    pages.map(({ page, of }) => `| \`${name}\` | ${of === 'all' ? 'all' : of.join(', ')} | ${page} |`)
  )
  return ['| provider | of | source |', '|---|---|---|', ...rows]
}

export function endpointsPage(recorded: Recorded = readRecorded()): string {
  return `# Providers and endpoints

Written by \`npm run matrix -- --write\` (scripts/endpoints-page.ts); a test holds this page to what Weir does and to
the data below. [Formats](llm-matrix.md) has what is carried within each.

Rows are the kinds of provider and all [names](llm-providers.md); columns are what clients ask for. The first word of
a cell is what Weir does with the request: \`native\`: it passes in the client's own format. \`converted\`: it is
written in the provider's, and the answer back. \`none\`: a 400 that says so, before anything is sent. \`passed on\`:
nothing is known of the service, or that it has no such thing; it gets the
request in OpenAI's words, and its own answer says whether it has.

What follows is the strongest proof that there is:

- a number: so many recorded exchanges of this provider, from the public repositories below, were given to Weir as the
  provider's answer and came through as they were recorded, to clients of all formats that ask for such a thing.
  Requests are not proven by that.
- \`SDK\`: a real client, unmodified, before a double of this provider (\`npm run conformance -- llm-clients\`).
- \`reference\`: by the provider's own documentation or client alone, see [below](#sources).
- \`not cited\`: from memory, or from pages that nobody has written down. Look there first when something is refused.

Columns of chat are four formats of clients: \`/v1/chat/completions\`, \`/v1/responses\`, \`/v1/messages\`,
\`generateContent\`. A service by name speaks chat completions, unless its file says \`formats\`.

${tableOf(recorded).join('\n')}

## Recorded exchanges

\`npm run conformance -- recordings CLONE --write\` counts them again, in scripts/recordings/recorded.json.

${repositoriesOf(recorded).join('\n')}

## Sources

${sourcesOf().join('\n')}
`
}
