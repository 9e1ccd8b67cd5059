/**
 * What is carried between the formats of clients and of providers, as a table: npm run matrix prints it, and
 * npm run matrix -- --write puts it into docs/llm-matrix.md, the providers by name into docs/llm-providers.md, and
 * their endpoints into docs/llm-endpoints.md.
 * Every cell is what a golden has just done: a request is read, written for the provider and read again there; an
 * answer of the mock provider takes the way back.
 */

import { writeFileSync } from 'node:fs'
import { mockAnswer } from '#backends/demo/models/answers.ts'
import { assemble } from '#backends/llm/answer/assemble.ts'
import type { Answer, FormatName } from '#backends/llm/conversation.ts'
import { type ChatFormat, FormatError, Losses } from '#backends/llm/formats/format.ts'
import { reportLosses } from '#backends/llm/request/provider-request.ts'
import { WHOLE_FORMATS } from '#backends/llm/testing/converse/index.ts'
import { rewritten } from '#backends/llm/translate/rewrites.ts'
import { COHERE_BUSY, cohereAnswer } from '#engine/testing/models-cohere.ts'
import { CONVERSE_BUSY, converseAnswer } from '#engine/testing/models-converse.ts'
import { PREDICTION_BUSY, predictionAnswer } from '#engine/testing/models-predictions.ts'
import { ENDPOINTS_FILE, endpointsPage } from './endpoints-page.ts'
import { type Client, FEATURES, type Feature, SMALLEST } from './matrix-goldens.ts'
import { inOtherWords, leftOut } from './matrix-losses.ts'
import { providersTable, TITLES } from './matrix-providers.ts'
import { PROVIDERS_FILE, providersPage } from './providers-page.ts'

export const MATRIX_FILE = new URL('../docs/llm-matrix.md', import.meta.url)

const CLIENTS: readonly Client[] = ['completions', 'responses', 'messages', 'gemini']
const CONTEXT = { model: 'm', wantsUsage: true, at: 0, id: 'id' }
/** As Weir asks for it. */
const STREAMED = { stream: true, stream_options: { include_usage: true } }
/** Where the mock provider has a format. */
const PATHS: Readonly<Record<Client, readonly [whole: string, streamed: string]>> = {
  completions: ['/v1/chat/completions', '/v1/chat/completions'],
  messages: ['/v1/messages', '/v1/messages'],
  responses: ['/v1/responses', '/v1/responses'],
  gemini: ['/v1beta/models/m:generateContent', '/v1beta/models/m:streamGenerateContent']
}

/** Columns of formats, in the order of their vendors. */
const ORDER: readonly FormatName[] = [
  ...(['completions', 'responses', 'messages', 'gemini', 'converse', 'cohereV2', 'predictions'] as const)
]

/** What may stand in a cell. */
export type Cell = 'native' | 'converted' | 'in other words' | 'left out' | 'not needed' | 'refused' | 'none' | 'LOST'

/** What becomes of a feature on the way from a client to a provider. */
export function requestCell(client: Client, provider: FormatName, { goldens, has, isHint }: Feature): Cell {
  const golden = goldens[client]
  if (golden === undefined) return 'none'
  const from = WHOLE_FORMATS[client]
  const body = { ...SMALLEST[client], ...golden }
  const conversation = from.readRequest(body, { model: 'm', isStreamed: false })
  if (!has(conversation)) return 'LOST'
  if (client === provider) return 'native'
  const [lost, losses] = [new Losses(), new Losses()]
  try {
    const written = WHOLE_FORMATS[provider].writeRequest(rewritten(conversation, provider, lost), lost)
    reportLosses(lost, conversation, { body, unprompted: null }, losses)
    if (losses.kinds.includes('meaning')) return 'refused'
    if (losses.kinds.includes('harmless')) return 'left out'
    const isThere = has(WHOLE_FORMATS[provider].readRequest(written, { model: 'm', isStreamed: false }))
    if (isThere) return losses.kinds.includes('carried') ? 'in other words' : 'converted'
    return isHint ? 'not needed' : 'LOST'
  } catch (error) {
    if (error instanceof FormatError) return 'refused'
    throw error
  }
}

type Way = 'answer' | 'tool call' | 'stream' | 'streamed tool call' | 'error'
const WAYS: readonly Way[] = ['answer', 'tool call', 'stream', 'streamed tool call', 'error']

/** What becomes of an answer on the way back. */
export function answerCell(client: Client, provider: FormatName, way: Way): Cell {
  const [from, to] = [WHOLE_FORMATS[provider], WHOLE_FORMATS[client]]
  const name = client === provider ? 'native' : 'converted'
  // A prediction has no tools.
  if (provider === 'predictions' && way.endsWith('tool call')) return 'none'
  const answer = answerOf(provider, way)
  if (way === 'error') {
    const original = from.readError(answer.status, JSON.stringify(answer.whole))
    const translated = to.readError(answer.status, JSON.stringify(to.writeError(original)))
    return translated.type === 'rateLimit' && translated.message === original.message ? name : 'LOST'
  }
  const isStreamed = way.startsWith('stream')
  const got = isStreamed ? throughStream(answer.events!, from, to) : throughWhole(answer.whole, from, to)
  return isGood(got, way.endsWith('tool call'), provider) ? name : 'LOST'
}

/** What the mock provider says. */
function answerOf(provider: FormatName, way: Way) {
  const hasTool = way.endsWith('tool call')
  const isStreamed = way.startsWith('stream')
  if (provider === 'converse') {
    if (way === 'error') return CONVERSE_BUSY
    return converseAnswer(hasTool ? { toolConfig: { tools: [{ toolSpec: { name: 'f' } }] } } : {}, isStreamed)
  }
  if (provider === 'cohereV2') {
    if (way === 'error') return COHERE_BUSY
    return cohereAnswer(hasTool ? { tools: [{ function: { name: 'f' } }] } : {}, isStreamed)
  }
  if (provider === 'predictions') return way === 'error' ? PREDICTION_BUSY : predictionAnswer(isStreamed)
  const client = provider as Client
  const path = PATHS[client]!
  if (way === 'error') return mockAnswer(path[0].replace('/m:', '/error-429:'), { model: 'error-429' })!
  const tools = FEATURES.find((feature) => feature.name === 'tools')!.goldens[client]!
  const body = { model: 'm', ...SMALLEST[client], ...(hasTool ? tools : {}), ...(isStreamed ? STREAMED : {}) }
  return mockAnswer(path[isStreamed ? 1 : 0], body)!
}

function throughWhole(whole: object, from: ChatFormat, to: ChatFormat): Answer {
  const answer = from.readAnswer(JSON.parse(JSON.stringify(whole)))
  return to.readAnswer(to.writeAnswer(answer, CONTEXT, new Losses()))
}

type Events = readonly (readonly [name: string | null, data: object | '[DONE]'])[]

function throughStream(events: Events, from: ChatFormat, to: ChatFormat): Answer {
  const [reader, writer, client] = [from.streamReader(), to.streamWriter(CONTEXT), to.streamReader()]
  const text = events
    .flatMap(([name, data]) => reader.read({ name: name ?? '', data: data === '[DONE]' ? data : JSON.stringify(data) }))
    .map((event) => writer.write(event))
    .join('')
  const heard = text.split('\n\n').filter((event) => event !== '')
  return assemble(
    heard.flatMap((event) => {
      const name = /^event: (.*)$/m.exec(event)?.[1] ?? ''
      return client.read({ name, data: /^data: (.*)$/m.exec(event)![1]! })
    }),
    to.name
  )
}

/** What the mock provider always says. */
function isGood({ choices, usage }: Answer, hasTool: boolean, provider: FormatName): boolean {
  const parts = choices[0]?.parts ?? []
  const text = parts.map((part) => (part.kind === 'text' ? part.text : '')).join('')
  const call = parts.find((part) => part.kind === 'toolCall')
  const isWhole = hasTool ? call?.name === 'f' && /"city":\s*"Paris"/.test(call.arguments) : text === 'Hello, world'
  // Cohere charges nothing for what it reads from its cache, and counts other tokens there; predictions tell of none.
  const cacheRead = provider === 'cohereV2' || provider === 'predictions' ? 0 : 4
  return isWhole && usage?.input === 12 && usage.output === 7 && usage.cacheRead === cacheRead
}

const signOf = (cell: Cell): string => (cell === 'none' ? '-' : cell)

function tableOf(client: Client): string {
  const providers = ORDER
  const row = (name: string, cells: readonly Cell[]) => `| ${name} | ${cells.map(signOf).join(' | ')} |`
  const requests = FEATURES.filter(({ goldens }) => goldens[client] !== undefined).map((feature) =>
    row(
      feature.name,
      providers.map((provider) => requestCell(client, provider, feature))
    )
  )
  const answers = WAYS.map((way) =>
    row(
      way,
      providers.map((provider) => answerCell(client, provider, way))
    )
  )
  const requestEnd = `| *of the answer:* |${' |'.repeat(providers.length)}`
  return [
    `## Clients that speak ${TITLES[client]}`,
    '',
    `| *of the request:* | ${providers.map((provider) => `to ${TITLES[provider]}`).join(' | ')} |`,
    `|---|${providers.map(() => '---').join('|')}|`,
    ...requests,
    requestEnd,
    ...answers
  ].join('\n')
}

export function matrix(): string {
  const head = `# Formats of clients and of providers

Written by \`npm run matrix -- --write\`, which runs what it shows (scripts/matrix.ts); a test holds this page
to that.

## Who is sent what

A client speaks one wire format, told by the path that it asks (\`routes\` of the backend,
[models](configuration.md#models)); a provider speaks one or several. Rows are what clients ask, columns
providers (for Vertex AI, by the maker of the model):

\`native\`: the provider speaks the client's own format, which passes as it is. \`as ...\`: it is translated
into that format, and the answer back. \`converted\`: the same, where no chat is meant. \`none\`: the provider
has no such thing, and the client is told so with a 400. A provider of \`custom\` speaks the OpenAI or Anthropic
formats that its configuration lists.

${providersTable()}

## What is carried

The tables below have one client format each. Columns are the wire format that the provider is sent, by the
table above. Every cell is what Weir does: a request is read, written for the provider and read
again there; answers, streams and errors of the mock provider take the way back, with their usage.

\`native\`: the same format on both sides, the bytes pass. \`converted\`: it arrives in the provider's own
words. \`in other words\`: the provider's format has no place for it, and the provider is told all the same (below).
\`left out\`: it changes nothing of what is asked for. \`refused\`: the provider's format cannot say it, and the
request would mean something else without it: a 400 that names the field. \`not needed\`: a hint, to providers that
do it unasked. Features that a client's format cannot say have no row.

The header \`x-weir-dropped\` lists the paths of what is said in other words and of what is left out. That is
\`unsupported: tolerant\`, the default. With \`refuse\`, both of these are a 400 as well; with \`drop\`, what is
refused here is left out.`
  return `${[head, ...CLIENTS.map(tableOf), inOtherWords(), leftOut(CLIENTS)].join('\n\n')}\n`
}

if (import.meta.main) {
  if (process.argv.includes('--write')) {
    writeFileSync(MATRIX_FILE, matrix())
    writeFileSync(PROVIDERS_FILE, providersPage())
    writeFileSync(ENDPOINTS_FILE, endpointsPage())
  } else process.stdout.write(matrix())
}
