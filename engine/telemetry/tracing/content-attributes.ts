/**
 * What was said, as the GenAI conventions have it in attributes: JSON texts of gen-ai-input-messages.json,
 * gen-ai-output-messages.json and gen-ai-system-instructions.json. Only for config.spendLog.prompts.
 */
import type { KeptCall, KeptContent } from '#engine/contract/kept-content.ts'
import { parseJson } from '#engine/kit/json.ts'
import { boundedContent } from '#engine/spend/content.ts'
import { AttributeKey, type AttributeWriter } from '#engine/telemetry/otlp/attributes.ts'

/** Of each part of the content: an attribute has room for two of them, and what is cut is no JSON. */
const PART_BYTES_MAX = 7 * 1024

const SYSTEM = new AttributeKey('gen_ai.system_instructions')
const INPUT = new AttributeKey('gen_ai.input.messages')
const OUTPUT = new AttributeKey('gen_ai.output.messages')

const textPart = (content: string) => ({ type: 'text', content })

/** `finishReasons`: of each answer, by the conventions' words. */
export function writeContent(
  content: KeptContent,
  finishReasons: readonly string[] | undefined,
  skip: ReadonlySet<string>,
  out: AttributeWriter
): void {
  const { prompt, answer, toolCalls } = boundedContent(content, PART_BYTES_MAX)
  const add = (key: AttributeKey, all: readonly unknown[]): void => {
    if (all.length > 0 && !skip.has(key.name)) out.attribute(key, JSON.stringify(all))
  }
  const isSystem = ({ role }: { readonly role: string }) => role === 'system'
  add(
    SYSTEM,
    prompt.filter(isSystem).map(({ content: text }) => textPart(text))
  )
  const others = prompt.filter((message) => !isSystem(message))
  add(
    INPUT,
    others.map(({ role, content: text }) => ({ role, parts: [textPart(text)] }))
  )
  // Which of several answers has others for a tool is not known: mostly there is one.
  const texts = answer.length === 0 && toolCalls.length > 0 ? [''] : answer
  const messages = texts.map((text, i) => ({
    role: 'assistant',
    parts: [...(text === '' ? [] : [textPart(text)]), ...(i === 0 ? toolCalls.map(callPart) : [])],
    finish_reason: finishReasons?.[i] ?? 'error'
  }))
  add(OUTPUT, messages)
}

/** Arguments that were cut are no JSON. */
const callPart = ({ id, name, arguments: text }: KeptCall) => ({
  type: 'tool_call',
  id,
  name,
  arguments: parseJson(text) ?? text
})
