/** What vendors' clients of npm make of an answer: their objects, which have the form of the format's JSON. */
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import type { JsonObject } from '#backends/llm/conversation.ts'
import { assembled } from './events.ts'
import type { Client } from './play.ts'

export interface Sdk {
  readonly name: string
  readonly client: Client
  /** Of what `ask` returns, when it is another format. */
  readonly form?: Client
  /** Asks the gateway at `base`; rejects with what the client throws. `calls`: of the answer, as Facts has them. */
  ask(base: string, isStreamed: boolean, calls: readonly string[]): Promise<JsonObject>
}

const messages = [{ role: 'user' as const, content: 'Hi' }]
const key = { apiKey: 'k', maxRetries: 0 }

/** As JSON has it: without getters, classes and what is not set. */
const plain = (value: unknown): JsonObject => JSON.parse(JSON.stringify(value)) as JsonObject

export const NPM_SDKS: readonly Sdk[] = [
  {
    name: 'openai (npm), chat',
    client: 'completions',
    async ask(base, isStreamed) {
      const { completions } = new OpenAI({ baseURL: `${base}/v1`, ...key }).chat
      const body = { model: 'm', messages }
      if (!isStreamed) return plain(await completions.create(body))
      const stream = completions.stream({ ...body, stream_options: { include_usage: true } })
      return plain(await stream.finalChatCompletion())
    }
  },
  {
    name: 'openai (npm), responses',
    client: 'responses',
    async ask(base, isStreamed) {
      const { responses } = new OpenAI({ baseURL: `${base}/v1`, ...key })
      const body = { model: 'm', input: 'Hi' }
      return plain(isStreamed ? await responses.stream(body).finalResponse() : await responses.create(body))
    }
  },
  {
    name: '@anthropic-ai/sdk',
    client: 'messages',
    async ask(base, isStreamed) {
      const client = new Anthropic({ baseURL: base, ...key })
      const body = { model: 'm', max_tokens: 9, messages }
      return plain(await (isStreamed ? client.messages.stream(body).finalMessage() : client.messages.create(body)))
    }
  },
  {
    name: '@google/genai',
    client: 'gemini',
    async ask(base, isStreamed) {
      const { models } = new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl: base } })
      const body = { model: 'm', contents: 'Hi' }
      if (!isStreamed) return plain(await models.generateContent(body))
      const chunks: JsonObject[] = []
      for await (const chunk of await models.generateContentStream(body)) chunks.push(plain(chunk))
      return assembled('gemini', chunks) ?? {}
    }
  }
]
