/** What `ai` of npm makes of an answer, by its package for each format: as chat completions have it. */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Json, JsonObject } from '#backends/llm/conversation.ts'
import type { Sdk } from './npm-sdks.ts'
import type { Client } from './play.ts'

type Make = (settings: object) => ((model: string) => unknown) & { readonly responses?: (model: string) => unknown }

interface Call {
  readonly toolName: string
  readonly input: Json
  readonly providerExecuted?: boolean
}

interface AiAnswer {
  readonly text: string
  readonly toolCalls: readonly Call[]
  readonly finishReason: string
  readonly usage: { readonly inputTokens?: number; readonly outputTokens?: number }
}

interface Ai {
  generateText(options: object): Promise<AiAnswer>
  streamText(
    options: object
  ): { readonly [K in keyof AiAnswer]: PromiseLike<AiAnswer[K]> } & { consumeStream(): Promise<void> }
}

const PACKAGES: { readonly [C in Client]: readonly [name: string, make: string, path: string] } = {
  completions: ['@ai-sdk/openai-compatible', 'createOpenAICompatible', '/v1'],
  messages: ['@ai-sdk/anthropic', 'createAnthropic', '/v1'],
  responses: ['@ai-sdk/openai', 'createOpenAI', '/v1'],
  gemini: ['@ai-sdk/google', 'createGoogleGenerativeAI', '/v1beta']
}

/** `folder`: where the packages are installed. */
export async function aiSdks(folder: string): Promise<readonly Sdk[]> {
  const installed = createRequire(join(folder, 'package.json'))
  const load = (name: string): Promise<unknown> => import(pathToFileURL(installed.resolve(name)).href)
  const ai = (await load('ai')) as Ai
  Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false })
  return await Promise.all(
    (Object.keys(PACKAGES) as Client[]).map(async (client): Promise<Sdk> => {
      const [name, make, path] = PACKAGES[client]
      const create = ((await load(name)) as Record<string, Make>)[make]!
      const ask: Sdk['ask'] = async (base, isStreamed) => {
        const settings = { name: 'weir', baseURL: `${base}${path}`, apiKey: 'k', includeUsage: true }
        const models = create(settings)
        const model = client === 'responses' ? models.responses!('m') : models('m')
        const options = { model, prompt: 'Hi', maxRetries: 0 }
        return asCompletion(isStreamed ? await streamed(ai, options) : await ai.generateText(options))
      }
      return { name: `ai, ${name}`, client, form: 'completions', ask }
    })
  )
}

async function streamed(ai: Ai, options: object): Promise<AiAnswer> {
  let failed: { readonly error: unknown } | null = null
  const onError = (event: { readonly error: unknown }): void => {
    failed ??= event
  }
  const answer = ai.streamText({ ...options, onError })
  await answer.consumeStream()
  if (failed !== null) throw (failed as { readonly error: unknown }).error
  const [text, toolCalls] = [await answer.text, await answer.toolCalls]
  return { text, toolCalls, finishReason: await answer.finishReason, usage: await answer.usage }
}

function asCompletion({ text, toolCalls, finishReason, usage }: AiAnswer): JsonObject {
  const calls = toolCalls
    .filter(({ providerExecuted }) => providerExecuted !== true)
    .map(({ toolName, input }) => ({ function: { name: toolName, arguments: JSON.stringify(input) } }))
  const { inputTokens, outputTokens } = usage
  const counts = inputTokens === undefined ? {} : { prompt_tokens: inputTokens, completion_tokens: outputTokens ?? 0 }
  const finish = finishReason.replaceAll('-', '_')
  return { choices: [{ message: { content: text, tool_calls: calls }, finish_reason: finish }], usage: counts }
}
