/** Who speaks what, as a table: for each kind of request and each provider, what the gateway would send. */

import { ok } from 'node:assert/strict'
import { backends } from '#backends/index.ts'
import type { AiBackend } from '#backends/llm/config/snapshot.ts'
import type { ClientFormat, FormatName } from '#backends/llm/conversation.ts'
import { ModelPatterns } from '#backends/llm/edits/model-patterns.ts'
import { FormatError } from '#backends/llm/formats/format.ts'
import { formatFor } from '#backends/llm/formats/index.ts'
import type { ResolvedProvider } from '#backends/llm/plan/request-plan.ts'
import { dialectFor } from '#backends/llm/providers/dialects.ts'
import { compileProvider } from '#backends/llm/providers/index.ts'
import { operationOf } from '#backends/llm/routes/index.ts'
import { LargeOperation } from '#backends/llm/routes/large-operation.ts'
import { loadConfig } from '#engine/standalone/load.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { policies } from '#policies/index.ts'

/** What a format is called where it comes from, and the end of its path. */
export const TITLES: Readonly<Record<FormatName, string>> = {
  completions: 'OpenAI chat completions',
  responses: 'OpenAI Responses',
  messages: 'Anthropic Messages',
  gemini: 'Gemini generateContent',
  converse: 'Bedrock Converse',
  cohereV2: 'Cohere chat',
  predictions: 'Replicate predictions'
}

interface Column {
  readonly title: string
  readonly model: string
  readonly provider: object
}

const VERTEX = { projectId: 'p', region: 'global' }

const COLUMNS: readonly Column[] = [
  { title: '`openai`', model: 'gpt-5', provider: { openai: {} } },
  { title: '`azureopenai`', model: 'gpt-5', provider: { azureopenai: { endpoint: 'https://r.openai.azure.com' } } },
  { title: '`anthropic`', model: 'claude-opus-4-5', provider: { anthropic: {} } },
  { title: '`gemini`', model: 'gemini-3-pro', provider: { gemini: {} } },
  { title: '`vertexai`: Gemini', model: 'gemini-3-pro', provider: { vertexai: VERTEX } },
  { title: '`vertexai`: Claude', model: 'claude-opus-4-5', provider: { vertexai: VERTEX } },
  { title: '`vertexai`: others', model: 'meta/llama-4', provider: { vertexai: VERTEX } },
  { title: '`bedrock`', model: 'amazon.nova-pro-v1:0', provider: { bedrock: { region: 'us-east-1' } } },
  { title: '`cohere`', model: 'command-a-03-2025', provider: { cohere: {} } },
  { title: '`watsonx`', model: 'ibm/granite-4-h-small', provider: { watsonx: { projectId: 'p' } } },
  { title: '`sagemaker`', model: 'llama', provider: { sagemaker: {} } },
  { title: '`replicate`', model: 'meta/meta-llama-3-70b-instruct', provider: { replicate: {} } }
]

interface Row {
  readonly title: string
  readonly cell: (to: ResolvedProvider, model: string) => string
}

const via = (spoken: FormatName) => `as ${TITLES[spoken]}`

const chat = (type: string, client: ClientFormat): Row => ({
  title: `\`${type}\`: ${TITLES[client]}`,
  cell: ({ provider }, model) => {
    const spoken = formatFor(provider, client, model)
    return spoken === client ? 'native' : via(spoken)
  }
})

/** What is no chat: the request is written for the provider, or it is said that this cannot be. */
function other(title: string, type: Parameters<typeof operationOf>[0], target: string, body: object | string): Row {
  return {
    title: `\`${type}\`: ${title}`,
    cell: (column, chatModel) => {
      const headers = typeof body === 'string' ? [['Content-Type', FORM_TYPE] as const] : []
      const ex = fakeExchange({ method: 'POST', target, headers })
      ex.upgrade = type === 'Realtime' ? 'websocket' : null
      try {
        const model = MODELS[type]?.[chatModel]
        const to = model === undefined ? column : { ...column, aliases: new ModelPatterns([['*', model]]) }
        const operation = operationOf(type, ex, Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)))
        ok(!(operation instanceof LargeOperation))
        return operation.write(ex, to).isNative ? 'native' : 'converted'
      } catch (error) {
        if (error instanceof FormatError) return 'none'
        throw error
      }
    }
  }
}

/** Of providers whose models for it are not those for chat. */
const MODELS: { readonly [type: string]: { readonly [chat: string]: string } } = {
  Embeddings: { 'amazon.nova-pro-v1:0': 'cohere.embed-v4:0', 'gemini-3-pro': 'gemini-embedding-001' },
  Rerank: { 'amazon.nova-pro-v1:0': 'cohere.rerank-v3-5:0', 'gemini-3-pro': 'semantic-ranker-default-004' }
}

/** Something that is kept is asked for by its id. */
const stored = (title: string, target: string): Row => other(title, 'Stored', target, '')

const FORM_TYPE = 'multipart/form-data; boundary=b'
const FORM = '--b\r\nContent-Disposition: form-data; name="model"\r\n\r\nm\r\n--b--\r\n'
const HI = { messages: [{ role: 'user', content: 'Hi' }] }
const CONTENTS = { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] }
const EMBED = { content: { parts: [{ text: 'Hi' }] } }

const ROWS: readonly Row[] = [
  chat('Completions', 'completions'),
  chat('Responses', 'responses'),
  chat('Messages', 'messages'),
  chat('GenerateContent', 'gemini'),
  other('OpenAI', 'TextCompletions', '/v1/completions', { model: 'm', prompt: 'Hi' }),
  other('OpenAI', 'Embeddings', '/v1/embeddings', { model: 'm', input: 'Hi' }),
  other('Cohere', 'Embeddings', '/v2/embed', { model: 'm', texts: ['Hi'], input_type: 'search_query' }),
  other('Gemini', 'Embeddings', '/v1beta/models/m:embedContent', EMBED),
  other('Cohere, Jina, Voyage', 'Rerank', '/v1/rerank', { model: 'm', query: 'Hi', documents: ['a'] }),
  other('OpenAI', 'Transcriptions', '/v1/audio/transcriptions', FORM),
  other('OpenAI', 'Translations', '/v1/audio/translations', FORM),
  other('OpenAI', 'Speech', '/v1/audio/speech', { model: 'm', voice: 'alloy', input: 'Hi' }),
  other('OpenAI', 'ImageGenerations', '/v1/images/generations', { model: 'm', prompt: 'Hi' }),
  other('OpenAI', 'ImageEdits', '/v1/images/edits', FORM),
  other('OpenAI', 'ImageVariations', '/v1/images/variations', FORM),
  other('OpenAI', 'Moderations', '/v1/moderations', { model: 'm', input: 'Hi' }),
  other('Anthropic', 'AnthropicTokenCount', '/v1/messages/count_tokens', { model: 'm', ...HI }),
  other('Gemini', 'GeminiTokenCount', '/v1beta/models/m:countTokens', CONTENTS),
  other('OpenAI', 'Models', '/v1/models', {}),
  other('OpenAI, WebSocket', 'Realtime', '/v1/realtime?model=m', {}),
  stored('OpenAI, files and batches', '/v1/files/ID'),
  stored('OpenAI, kept answers, conversations', '/v1/responses/ID'),
  stored('Anthropic, batches, files, skills', '/v1/messages/batches/ID'),
  stored('Gemini, files, caches, batches', '/v1beta/files/ID'),
  { title: '`Passthrough`: anything', cell: () => 'native' }
]

function recipient({ provider, model }: Column): ResolvedProvider {
  const file = JSON.stringify({ backends: [{ name: 'b', ai: { provider } }] })
  const loaded = loadConfig(file, { file: 'matrix', env: {}, policies, backends })
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.errors))
  const { b: backend } = loaded.snapshot.backends
  const settings = (backend as AiBackend | undefined)?.groups[0]?.[0]
  if (settings === undefined) throw new Error('no provider in the configuration')
  return {
    settings,
    service: settings.type,
    provider: compileProvider(settings),
    aliases: new ModelPatterns([['*', model]]),
    learned: { dialect: dialectFor(null, '') },
    account: { name: settings.name, store: { tag: 'aaaa', key: Buffer.alloc(32) } }
  }
}

export function providersTable(): string {
  const recipients = COLUMNS.map(recipient)
  const rows = ROWS.map(({ title, cell }) => {
    const cells = recipients.map((to, i) => cell(to, COLUMNS[i]!.model))
    return `| ${title} | ${cells.join(' | ')} |`
  })
  return [
    `| clients ask by | ${COLUMNS.map(({ title }) => title).join(' | ')} |`,
    `|---|${COLUMNS.map(() => '---').join('|')}|`,
    ...rows
  ].join('\n')
}
