/** Recorded answers of providers, through a gateway, to clients of all formats; and what differs behind it. */
import type { ServerResponse } from 'node:http'
import type { JsonObject } from '#backends/llm/conversation.ts'
import { isObject } from '#backends/llm/formats/fields.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { type Models, startModels } from '#engine/testing/models.ts'
import { assembled, converseEvents, eventsIn } from './events.ts'
import { type Facts, factsOf } from './facts.ts'
import type { Sdk } from './npm-sdks.ts'
import { objectIn, type Recording, type WireFormat } from './read.ts'
import { vendorAnswer } from './vendors.ts'

export const CLIENTS = ['completions', 'messages', 'responses', 'gemini'] as const
export type Client = (typeof CLIENTS)[number]

export interface Played {
  readonly client: Client
  /** What differs; empty: nothing. */
  readonly why: readonly string[]
}

export class Player {
  readonly #models: Models
  readonly #bases: Readonly<Record<WireFormat, string>>
  readonly #close: () => Promise<void>

  private constructor(models: Models, bases: Readonly<Record<WireFormat, string>>, close: () => Promise<void>) {
    this.#models = models
    this.#bases = bases
    this.#close = close
  }

  static async start(): Promise<Player> {
    const models = await startModels()
    const started = await Promise.all(FORMATS.map((format) => startGateway(fileFor(format, models.port))))
    const bases = Object.fromEntries(FORMATS.map((format, i) => [format, `http://127.0.0.1:${started[i]!.port}`]))
    return new Player(models, bases as Record<WireFormat, string>, async () => {
      for (const one of started) await one.close()
      models.close()
    })
  }

  close(): Promise<void> {
    return this.#close()
  }

  /** `recording` to a client of `client`. */
  async play(recording: Recording, client: Client): Promise<Played> {
    this.#answerWith(recording)
    const [path, body] = REQUESTS[client](recording.isStreamed)
    const answer = await fetch(`${this.#bases[recording.format]}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer k' },
      body: JSON.stringify(body)
    })
    const bytes = Buffer.from(await answer.arrayBuffer())
    return { client, why: differences(recording, client, { answer, bytes }) }
  }

  /** `recording` to a vendor's own client; what its object says otherwise, or that it was not refused. */
  playTo(recording: Recording, sdk: Sdk): Promise<string[]> {
    return this.#heard(recording, sdk, this.#bases[recording.format])
  }

  /**
   * Where `why` comes from, what `playTo` has found: the client is asked once more, without a gateway. It differs so
   * at what its own vendor would say ("vendor"), at the recording, whose format is its own ("recording"), or at neither
   * (null).
   */
  async originOf(why: readonly string[], recording: Recording, sdk: Sdk): Promise<'vendor' | 'recording' | null> {
    const base = `http://127.0.0.1:${this.#models.port}`
    const isSame = (alone: readonly string[]): boolean => {
      const kinds = new Set(alone.map(kindOf))
      return why.every((one) => kinds.has(kindOf(one)))
    }
    const sent = recording.status >= 300 ? null : wholeOf(recording)
    if (sent !== null) {
      const answer = vendorAnswer(sdk.client, factsOf(recording.format, sent), recording.isStreamed)
      if (isSame(await this.#heard(recording, sdk, base, { ...recording, ...answer }))) return 'vendor'
    }
    if (recording.format !== sdk.client) return null
    return isSame(await this.#heard(recording, sdk, base)) ? 'recording' : null
  }

  async #heard(recording: Recording, sdk: Sdk, base: string, sent = recording): Promise<string[]> {
    this.#answerWith(sent)
    const isRefusal = recording.status >= 300 || isError(recording)
    const { calls } = factsOf(recording.format, (isRefusal ? null : wholeOf(recording)) ?? {})
    try {
      return sdkDifferences(recording, sdk.form ?? sdk.client, await sdk.ask(base, recording.isStreamed, calls))
    } catch (error) {
      const whole = isRefusal ? null : wholeOf(recording)
      const fails = isRefusal || (whole !== null && hasEndedBadly(recording, whole))
      return fails ? [] : [String(error).slice(0, 300)]
    }
  }

  #answerWith(recording: Recording): void {
    this.#models.instead = (_, response: ServerResponse) => {
      const { status, contentType, bytes } = recording
      response.writeHead(status, { 'content-type': contentType }).end(bytes)
      return true
    }
  }
}

/** What a difference is about; of an error its beginning, without numbers. */
const kindOf = (why: string): string =>
  /^(?:text|calls|stop|input|output)(?=: )/.exec(why)?.[0] ?? why.slice(0, 48).replace(/\d+/g, '')

const BUFFER_BYTES_MAX = 16 * 1024 * 1024
const FORMATS: readonly WireFormat[] = ['completions', 'messages', 'responses', 'gemini', 'converse', 'cohereV2']

function fileFor(format: WireFormat, port: number): string {
  const key = { policies: { auth: { key: 'k' } } }
  const kind =
    format === 'gemini'
      ? { gemini: {} }
      : format === 'converse'
        ? { bedrock: { model: 'm' } }
        : format === 'cohereV2'
          ? { cohere: { api: 'v2' } }
          : { custom: { formats: [format] } }
  const routes = {
    '/messages': 'Messages',
    '/responses': 'Responses',
    '/completions': 'Completions',
    '*': 'GenerateContent'
  }
  const ai = { provider: { ...kind, host: '127.0.0.1', port, ...key }, routes }
  // Pictures are long.
  const frontendPolicies = { http: { maxBufferSize: BUFFER_BYTES_MAX } }
  const config = { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', logging: { level: 'error' } }
  return JSON.stringify({
    config,
    frontendPolicies,
    binds: [{ port: 0, listeners: [{ routes: [{ backends: [{ ai }] }] }] }]
  })
}

const HI = [{ role: 'user', content: 'Hi' }]
const REQUESTS: { readonly [C in Client]: (stream: boolean) => readonly [path: string, body: object] } = {
  completions: (stream) => [
    '/v1/chat/completions',
    { model: 'm', messages: HI, stream, ...(stream ? { stream_options: { include_usage: true } } : {}) }
  ],
  messages: (stream) => ['/v1/messages', { model: 'm', max_tokens: 9, messages: HI, stream }],
  responses: (stream) => ['/v1/responses', { model: 'm', input: 'Hi', stream }],
  gemini: (stream) => [
    `/v1beta/models/m:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] }
  ]
}

interface Got {
  readonly answer: Response
  readonly bytes: Buffer
}

function differences(recording: Recording, client: Client, { answer, bytes }: Got): string[] {
  const { format, status, isStreamed } = recording
  const why: string[] = []
  const isMasked = status < 300 && isError(recording)
  const isTaken = isMasked ? answer.status >= 400 : answer.status === status
  if (!isTaken) why.push(`status ${answer.status} for ${status}: ${bytes.toString().slice(0, 200)}`)
  if (status >= 300 || isMasked) return [...why, ...errorDifferences(recording, client, bytes)]
  if (why.length > 0) return why
  const { events: heard, comments } = isStreamed ? eventsIn(bytes) : { events: [], comments: [] }
  const sent = wholeOf(recording)
  const got = isStreamed ? assembled(client, heard) : objectIn(bytes.toString())
  if (sent === null) return ['the recording is no answer']
  if (got === null) return [`no JSON: ${bytes.toString().slice(0, 100)}`]
  const [one, two] = [factsOf(format, sent), factsOf(client, got)]
  // A stream that fails ends with an error.
  if (one.stop === 'failed' || (isStreamed && hasFailed(recording)))
    return /"error"|response\.failed/.test(bytes.toString()) ? [] : ['no error']
  why.push(...factDifferences(one, two))
  const isNoted =
    answer.headers.has('x-weir-dropped') ||
    comments.some((line) => line.includes('x-weir-dropped')) ||
    bytes.includes('x-weir-dropped')
  const kept = two.others.length
  if (client !== format && one.others.length > kept && !isNoted)
    why.push(`lost without a note: ${one.others.join(', ')}`)
  return why
}

const hasEndedBadly = (recording: Recording, sent: JsonObject): boolean =>
  factsOf(recording.format, sent).stop === 'failed' || (recording.isStreamed && hasFailed(recording))

function sdkDifferences(recording: Recording, form: Client, got: JsonObject): string[] {
  if (recording.status >= 300 || isError(recording)) return ['it was taken for an answer']
  const sent = wholeOf(recording)
  if (sent === null) return ['the recording is no answer']
  // Clients put a failed response into the same object as a good one.
  if (hasEndedBadly(recording, sent))
    return /"error"|"failed"/.test(JSON.stringify(got)) ? [] : ['it was taken for an answer']
  return factDifferences(factsOf(recording.format, sent), factsOf(form, got))
}

/** Some servers say so behind 200; a failed response of OpenAI's client is one itself. */
function isError({ isStreamed, bytes }: Recording): boolean {
  const whole = isStreamed ? null : objectIn(bytes.toString())
  return whole !== null && isObject(whole.error) && whole.choices === undefined
}

const hasFailed = ({ bytes }: Recording): boolean =>
  /^(?:event: error|data: \{"error":|data: .*"error":\{"(?:code|message)")/m.test(bytes.toString())

function wholeOf({ format, isStreamed, bytes }: Recording): JsonObject | null {
  if (!isStreamed) return objectIn(bytes.toString())
  return assembled(format, format === 'converse' ? converseEvents(bytes) : eventsIn(bytes).events)
}

function factDifferences(one: Facts, two: Facts): string[] {
  const why: string[] = []
  const differ = (name: string, sent: unknown, got: unknown): void => {
    if (sent !== got) why.push(`${name}: ${String(sent).slice(0, 120)} -> ${String(got).slice(0, 120)}`)
  }
  differ('text', JSON.stringify(one.text), JSON.stringify(two.text))
  if (one.hasPieces !== true) {
    differ('calls', one.calls.join('; '), two.calls.join('; '))
    differ('stop', one.stop, two.stop)
  }
  if (one.input !== null) {
    differ('input', one.input, two.input)
    differ('output', one.output, two.output)
  }
  return why
}

/** Its message is in the error of the client's format, whatever that calls it. */
function errorDifferences({ bytes }: Recording, client: Client, got: Buffer): string[] {
  const value = objectIn(got.toString())
  const error = value?.error
  if (value === null || typeof error !== 'object' || error === null)
    return [`no error: ${got.toString().slice(0, 100)}`]
  const message = String((error as Record<string, unknown>).message)
  // Messages has no field for the parameter: the message begins with it.
  const words = JSON.stringify(message.replace(/^[\w.[\]]+: /, '')).slice(1, -1)
  const isSame = bytes.toString().includes(words.slice(0, 60))
  return isSame || client === 'gemini' ? [] : [`message: ${message.slice(0, 100)}`]
}
