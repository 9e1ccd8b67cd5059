/** A client of an MCP endpoint of the gateway, over its own port (POST /api/v1/send). */
import { send } from '#engine/ui/api/send.ts'
import { type Inbox, type Json, type Message, type Question, questionIn, received } from './messages.ts'

const VERSION = '2025-06-18'
const NAME = 'weir-ui'

/** What is heard of a session, in its order. */
export interface Heard {
  readonly from: 'client' | 'server'
  readonly message: Message
  /** Milliseconds since 1970. */
  readonly at: number
}

export interface SessionParts {
  readonly url: string
  /** Of the identity: authorization, for example. */
  readonly headers: readonly (readonly [string, string])[]
  readonly onHeard: (heard: Heard) => void
  /** The server wants something of the person. */
  readonly onQuestion: (question: Question) => void
}

/** Rejects with an Error that has the server's words, or the gateway's. */
export class Session {
  readonly #parts: SessionParts
  readonly #left = new AbortController()
  #id: string | null = null
  #next = 1
  #version = VERSION

  constructor(parts: SessionParts) {
    this.#parts = parts
  }

  /** What the server says of itself. */
  async open(): Promise<Json> {
    const capabilities = { elicitation: {}, sampling: {} }
    const clientInfo = { name: NAME, version: '1' }
    const result = await this.request('initialize', { protocolVersion: VERSION, capabilities, clientInfo })
    if (typeof result.protocolVersion === 'string') this.#version = result.protocolVersion
    await this.#post({ method: 'notifications/initialized' })
    return result
  }

  async request(method: string, params: Json = {}): Promise<Json> {
    const id = this.#next++
    const answer = await this.#post({ id, method, params })
    if (answer === null) throw new Error('the answer ended without a result')
    if (answer.error !== undefined) throw new Error(`${answer.error.message} (${answer.error.code})`)
    return answer.result ?? {}
  }

  /** All pages of a list. */
  async list(method: string, field: string): Promise<readonly Json[]> {
    const items: Json[] = []
    let cursor: unknown
    do {
      const page = await this.request(method, cursor === undefined ? {} : { cursor })
      items.push(...((page[field] as readonly Json[] | undefined) ?? []))
      cursor = page.nextCursor
    } while (typeof cursor === 'string')
    return items
  }

  /** To a question of the server. */
  async answer(id: number | string, result: Json): Promise<void> {
    await this.#post({ id, result })
  }

  /** Nothing of it goes on. */
  close(): void {
    this.#left.abort()
  }

  /** Resolves with the message that has the same id; null: there is none, or it was a notification. */
  async #post(message: Message): Promise<Message | null> {
    this.#hear('client', message)
    let status = 0
    let text = ''
    let inbox: Inbox = { isEvents: false, rest: '' }
    let answer: Message | null = null
    const take = (piece: string, isOver: boolean) => {
      const read = received(inbox, piece, isOver)
      inbox = read.inbox
      for (const one of read.messages) {
        this.#hear('server', one)
        const question = questionIn(one)
        if (question !== null) this.#parts.onQuestion(question)
        else if (one.id !== undefined && one.id === message.id) answer = one
      }
    }
    const wish = {
      method: 'POST',
      url: this.#parts.url,
      headers: this.#headers(),
      body: JSON.stringify({ jsonrpc: '2.0', ...message })
    }
    let failure: string | null = null
    await send(
      wish,
      (line) => {
        if (line.kind === 'head') {
          status = line.status
          const of = (name: string) => line.headers.find(([own]) => own.toLowerCase() === name)?.[1]
          inbox = { isEvents: of('content-type')?.includes('event-stream') === true, rest: '' }
          this.#id = of('mcp-session-id') ?? this.#id
        }
        if (line.kind === 'failed') failure = line.message
        if (line.kind === 'piece') {
          text += line.text
          take(line.text, false)
        }
        if (line.kind === 'end') take('', true)
      },
      this.#left.signal
    )
    if (failure !== null) throw new Error(failure)
    if (status >= 400 && answer === null) throw new Error(`${status}: ${text.trim().slice(0, 500)}`)
    return answer
  }

  #headers(): [string, string][] {
    const own: [string, string][] = [
      ['content-type', 'application/json'],
      ['accept', 'application/json, text/event-stream']
    ]
    if (this.#id !== null) own.push(['mcp-session-id', this.#id], ['mcp-protocol-version', this.#version])
    return [...own, ...this.#parts.headers.map(([name, value]): [string, string] => [name, value])]
  }

  #hear(from: Heard['from'], message: Message): void {
    this.#parts.onHeard({ from, message, at: Date.now() })
  }
}
