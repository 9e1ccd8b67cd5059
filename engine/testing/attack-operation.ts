/**
 * What the fuzz targets of requests that are no chat have in common: an input is read as a request and as an answer, by
 * every provider, and bends ones that are right. Reading throws FormatError or nothing else (RangeError for what is
 * nested without bottom); what is sent is JSON and goes to a path; what a client is told is JSON that it can read.
 */
import assert from 'node:assert/strict'
import { withoutCredentials } from '#backends/llm/auth/query-keys.ts'
import type { AiCloud, AiProvider } from '#backends/llm/config/snapshot.ts'
import type { Json, JsonObject } from '#backends/llm/conversation.ts'
import { ModelPatterns } from '#backends/llm/edits/model-patterns.ts'
import { isObject } from '#backends/llm/formats/fields.ts'
import { FormatError } from '#backends/llm/formats/format.ts'
import type { ResolvedProvider } from '#backends/llm/plan/request-plan.ts'
import { dialectFor } from '#backends/llm/providers/dialects.ts'
import { compileProvider } from '#backends/llm/providers/index.ts'
import type { AnswerSpec, OperationType } from '#backends/llm/routes/answer-spec.ts'
import { operationOf } from '#backends/llm/routes/index.ts'
import { LargeOperation } from '#backends/llm/routes/large-operation.ts'
import type { SentOperation } from '#backends/llm/routes/operation.ts'
import { translateOperationAnswer } from '#backends/llm/routes/operation-answer.ts'
import { boundedUsage, TOKENS_MAX } from '#backends/llm/usage/token-counts.ts'
import { Exchange } from '#engine/contract/exchange.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { bentJson } from './bent-json.ts'

const PROMPT = { prepend: [{ role: 'system', content: 'S' }], append: [{ role: 'user', content: 'U' }] } as const
const CLOUDS: readonly AiCloud[] = [
  { kind: 'azureopenai', apiVersion: '2024-10-21' },
  { kind: 'vertexai', projectId: 'p', region: 'global' },
  { kind: 'bedrock', region: 'us-east-1', guardrail: null }
]

function writer(
  type: AiProvider['type'],
  model: string | null,
  cloud: AiCloud | null,
  isPrompted: boolean
): ResolvedProvider {
  const edits = { overrides: [], defaults: [], prompt: isPrompted ? PROMPT : null, caching: null }
  const formats = ['completions', 'messages', 'responses'] as const
  const settings = { type, cloud, formats, model, path: null, pathPrefix: null, edits }
  return {
    settings,
    provider: compileProvider(settings),
    aliases: new ModelPatterns([['m', 'n']]),
    learned: { dialect: dialectFor(null, '') }
  }
}

const PLAIN = ['openai', 'anthropic', 'gemini', 'custom'] as const
const KINDS = [...PLAIN.map((type) => [type, null] as const), ...CLOUDS.map((cloud) => [cloud.kind, cloud] as const)]
/** Vertex AI and Bedrock serve the models of several makers. */
const MODELS = [null, 'gemini-2.5-pro', 'anthropic.claude-sonnet-4', 'claude-sonnet-4'] as const
const WRITERS = KINDS.flatMap(([type, cloud]) =>
  (cloud === null ? [null] : MODELS).flatMap((model) => [
    writer(type, model, cloud, false),
    writer(type, model, cloud, true)
  ])
)

export interface Attack {
  readonly type: OperationType
  /** Where clients ask. */
  readonly paths: readonly string[]
  /** Fields of the request. */
  readonly fields: readonly string[]
  /** JSON of requests and of answers that are right. */
  readonly requests: readonly string[]
  readonly answers: readonly string[]
  /** Judges what a client is told, of its own format. */
  readonly judge: (telling: AnswerSpec, body: JsonObject) => void
}

export function attackOperation(attack: Attack, data: Buffer): void {
  const requests = [data, ...attack.requests.map((seed) => bytesOf(bentJson(seed, data) as Json))]
  const answers = [data, ...attack.answers.map((seed) => bytesOf(bentJson(seed, data) as Json))]
  const heard = new Set<string>()
  for (const path of attack.paths) {
    for (const bytes of requests) {
      for (const to of WRITERS) {
        const sent = ask(attack, path, bytes, to)
        if (sent?.answerSpec == null) continue
        // Many requests are answered in the same words.
        const key = JSON.stringify([sent.answerSpec, sent.isNative])
        if (heard.has(key)) continue
        heard.add(key)
        for (const answer of answers) hear(attack, sent, answer)
      }
    }
  }
  assert.equal(({} as Record<string, unknown>).polluted, undefined)
}

const bytesOf = (value: Json): Buffer => Buffer.from(JSON.stringify(value))

/** Null: it cannot be asked. */
function ask({ type, fields }: Attack, path: string, bytes: Buffer, to: ResolvedProvider): SentOperation | null {
  const block = new HeaderBlock()
  for (let i = 0; i < fields.length; i += 2) block.append(fields[i]!, fields[i + 1]!)
  // As the backend does before any operation reads it.
  const query = withoutCredentials('?key=secret&a=1')
  const ex = new Exchange(null as never, 'POST', path, query, 'a', block, 0, 0, 0)
  let sent: SentOperation
  try {
    const operation = operationOf(type, ex, bytes)
    if (operation instanceof LargeOperation) return null
    sent = operation.write(ex, to)
  } catch (error) {
    if (error instanceof FormatError || error instanceof RangeError) return null
    throw error
  }
  assert.match(ex.path, /^\/[!-~]+$/)
  assert.match(ex.query, /^(?:\?[!-~]*)?$/)
  assert.doesNotMatch(ex.query, /secret/)
  if (type !== 'Models') assert.ok(isObject(JSON.parse(ex.requestBytes!.toString()) as Json))
  return sent
}

function hear({ judge }: Attack, { providerFormat, isNative, answerSpec }: SentOperation, bytes: Buffer): void {
  // What it is told in does not matter for what is read.
  const client = answerSpec!.client
  for (const status of [200, 400]) {
    const {
      usage,
      bytes: made,
      problem
    } = translateOperationAnswer({ bytes, status, client, providerFormat, isNative, answerSpec: answerSpec! })
    if (usage !== null) {
      for (const tokens of Object.values(boundedUsage(usage)))
        assert.ok(Number.isInteger(tokens) && tokens >= 0 && tokens <= TOKENS_MAX)
    }
    if (made === null) {
      assert.ok(isNative || problem !== null, 'neither an answer nor a reason')
      continue
    }
    const body = JSON.parse(made.toString()) as Json
    assert.ok(isObject(body))
    if (status === 200) judge(answerSpec!, body)
  }
}
