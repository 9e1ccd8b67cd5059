/** Clients of PyPI, in one process that answers line by line (sdks.py). */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { JsonObject } from '#backends/llm/conversation.ts'
import { assembled } from './events.ts'
import type { Sdk } from './npm-sdks.ts'
import type { Client } from './play.ts'

const FORMAT_OF: Readonly<Record<string, Client>> = {
  'openai (PyPI), chat': 'completions',
  'openai (PyPI), responses': 'responses',
  'anthropic (PyPI)': 'messages',
  'google-genai': 'gemini',
  litellm: 'completions',
  langchain: 'completions',
  'instructor, OpenAI': 'completions',
  'instructor, Anthropic': 'messages'
}

type Reply = { readonly whole: JsonObject } | { readonly error: string }

/** `python`: an interpreter that has them. */
export function pythonSdks(python: string): { readonly sdks: readonly Sdk[]; close(): void } {
  const child = spawn(python, [join(import.meta.dirname, 'sdks.py')], { stdio: ['pipe', 'pipe', 'ignore'] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const request = async (order: object): Promise<Reply> => {
    child.stdin.write(`${JSON.stringify(order)}\n`)
    // What a library prints besides is no line of ours.
    for (;;) {
      const { value, done } = (await lines.next()) as { value: string; done?: boolean }
      if (done === true) throw new Error('sdks.py has ended')
      if (value.startsWith('{"')) return JSON.parse(value) as Reply
    }
  }
  const sdks = Object.entries(FORMAT_OF).map(([name, client]): Sdk => {
    const ask: Sdk['ask'] = async (base, isStreamed, calls) => {
      const reply = await request({ sdk: name, base, stream: isStreamed, calls })
      if ('error' in reply) throw new Error(reply.error)
      const { chunks } = reply.whole
      return Array.isArray(chunks) ? (assembled(client, chunks as JsonObject[]) ?? {}) : reply.whole
    }
    return { name, client, ask }
  })
  return { sdks, close: () => child.stdin.end() }
}
