/** Three-turn loops of tools by the vendors' own SDKs: a call, two calls at once, an answer. */
import Anthropic from '@anthropic-ai/sdk'
import { type Content, type FunctionDeclaration, GoogleGenAI, type Part } from '@google/genai'
import OpenAI from 'openai'
import { MARKS } from './doubles/double.ts'

/** `base`: of the gateway, with the name of a provider. Throws what the client does not like. */
export type Loop = (base: string, isStreamed: boolean) => Promise<void>

export const SYSTEM = `You are an agent. ${MARKS.system}`
export const USER = `What is the weather in Paris, and what time is it? ${MARKS.user}`
export const PARAMETERS = {
  type: 'object' as const,
  properties: { city: { type: 'string', description: 'Name of the city' } },
  required: ['city'],
  additionalProperties: false
}
export const TOOLS = ['get_weather', 'get_time'].map((name) => ({ name, description: `Runs ${name}.` }))
const TURNS_MAX = 4

/** Results of the tools, in the order of their calls. */
export function* results(): Generator<string, never> {
  for (let i = 0; ; i++) yield `${MARKS.results[i] ?? 'MARK-TOO-MANY'}: 21 degrees, noon`
}

export function conclude(text: string | null | undefined): void {
  if (text?.includes(MARKS.answer) !== true) throw new Error(`the answer is ${JSON.stringify(text)}`)
}

const endless = (): never => {
  throw new Error(`no answer after ${TURNS_MAX} turns`)
}

const chat: Loop = async (base, isStreamed) => {
  const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: 'k', maxRetries: 0 })
  const tools = TOOLS.map((tool) => ({ type: 'function' as const, function: { ...tool, parameters: PARAMETERS } }))
  const messages: OpenAI.ChatCompletionMessageParam[] = [
    { role: 'system', content: SYSTEM },
    { role: 'user', content: USER }
  ]
  const result = results()
  for (let turn = 0; turn < TURNS_MAX; turn++) {
    const body = { model: 'gpt-5', messages, tools }
    const answer = isStreamed
      ? await client.chat.completions.stream(body).finalChatCompletion()
      : await client.chat.completions.create(body)
    const message = answer.choices[0]!.message
    messages.push(message)
    if (message.tool_calls === undefined || message.tool_calls.length === 0) return conclude(message.content)
    for (const { id } of message.tool_calls)
      messages.push({ role: 'tool', tool_call_id: id, content: result.next().value })
  }
  endless()
}

const responses: Loop = async (base, isStreamed) => {
  const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: 'k', maxRetries: 0 })
  const tools = TOOLS.map((tool) => ({ type: 'function' as const, ...tool, parameters: PARAMETERS, strict: true }))
  const input: OpenAI.Responses.ResponseInputItem[] = [{ role: 'user', content: USER }]
  const result = results()
  for (let turn = 0; turn < TURNS_MAX; turn++) {
    const include: OpenAI.Responses.ResponseIncludable[] = ['reasoning.encrypted_content']
    const body = { model: 'gpt-5', instructions: SYSTEM, input, tools, store: false, include }
    const answer = isStreamed
      ? await client.responses.stream(body).finalResponse()
      : await client.responses.create(body)
    for (const item of answer.output) input.push(item as OpenAI.Responses.ResponseInputItem)
    const calls = answer.output.flatMap((item) => (item.type === 'function_call' ? [item] : []))
    if (calls.length === 0) return conclude(answer.output_text)
    for (const call of calls)
      input.push({ type: 'function_call_output', call_id: call.call_id, output: result.next().value })
  }
  endless()
}

const anthropic =
  (thinks: boolean): Loop =>
  async (base, isStreamed) => {
    const client = new Anthropic({ baseURL: base, apiKey: 'k', maxRetries: 0 })
    const mark = { cache_control: { type: 'ephemeral' as const } }
    const tools = TOOLS.map((tool) => ({ ...tool, input_schema: PARAMETERS }))
    const messages: Anthropic.MessageParam[] = [{ role: 'user', content: [{ type: 'text', text: USER, ...mark }] }]
    const thinking = thinks ? { thinking: { type: 'enabled' as const, budget_tokens: 2048 } } : {}
    const result = results()
    for (let turn = 0; turn < TURNS_MAX; turn++) {
      const system = [{ type: 'text' as const, text: SYSTEM, ...mark }]
      const body = { model: 'claude-opus-4-6', max_tokens: 4096, system, messages, tools, ...thinking }
      const answer = isStreamed ? await client.messages.stream(body).finalMessage() : await client.messages.create(body)
      messages.push({ role: 'assistant', content: answer.content as Anthropic.ContentBlockParam[] })
      const calls = answer.content.filter((block) => block.type === 'tool_use')
      if (calls.length === 0) return conclude(answer.content.find((block) => block.type === 'text')?.text)
      const content = calls.map(({ id }) => ({
        type: 'tool_result' as const,
        tool_use_id: id,
        content: result.next().value
      }))
      messages.push({ role: 'user', content })
    }
    endless()
  }

const google: Loop = async (base, isStreamed) => {
  const client = new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl: base } })
  const functionDeclarations: FunctionDeclaration[] = TOOLS.map((tool) => ({
    ...tool,
    parametersJsonSchema: PARAMETERS
  }))
  const contents: Content[] = [{ role: 'user', parts: [{ text: USER }] }]
  const config = { systemInstruction: SYSTEM, tools: [{ functionDeclarations }] }
  const result = results()
  for (let turn = 0; turn < TURNS_MAX; turn++) {
    const body = { model: 'gemini-3-pro', contents, config }
    const parts: Part[] = []
    if (isStreamed) {
      for await (const chunk of await client.models.generateContentStream(body))
        for (const part of chunk.candidates?.[0]?.content?.parts ?? []) parts.push(part)
    } else {
      parts.push(...((await client.models.generateContent(body)).candidates?.[0]?.content?.parts ?? []))
    }
    contents.push({ role: 'model', parts })
    const calls = parts.flatMap(({ functionCall }) => (functionCall === undefined ? [] : [functionCall]))
    const text = parts.map((part) => (part.thought ? '' : (part.text ?? ''))).join('')
    if (calls.length === 0) return conclude(text)
    const answers = calls.map(({ id, name }) => ({
      functionResponse: {
        ...(id === undefined ? {} : { id }),
        name: name!,
        response: { output: result.next().value }
      }
    }))
    contents.push({ role: 'user', parts: answers })
  }
  endless()
}

export const SDK_LOOPS: { readonly [client: string]: Loop } = {
  'openai-js chat': chat,
  'openai-js responses': responses,
  'anthropic-js': anthropic(false),
  'anthropic-js thinking': anthropic(true),
  'genai-js': google
}
