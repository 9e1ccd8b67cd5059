/**
 * `index` of the calls in a stream ("The chat completion chunk object": it is required). Mistral, which has no `type`
 * either, and Google's compatible endpoint leave it out, and OpenAI's clients then fail, or lose the calls
 * (openai-python #2806): it is put in again, by the rules by which calls are told apart (stream-tool-calls.ts).
 */
import type { Json, JsonObject } from '#backends/llm/conversation.ts'
import { isObject, isString } from '#backends/llm/formats/fields.ts'

interface Last {
  readonly index: number
  readonly id: string
}

class CallIndexes {
  /** By the index of the choice. */
  readonly #last = new Map<Json, Last>()

  mended(value: JsonObject): JsonObject | null {
    if (!Array.isArray(value.choices)) return null
    let isSame = true
    const choices = (value.choices as readonly Json[]).map((choice) => {
      const calls = isObject(choice) && isObject(choice.delta) ? choice.delta.tool_calls : null
      if (!isObject(choice) || !Array.isArray(calls)) return choice
      const numbered = (calls as readonly Json[]).map((call) => this.#numbered(call, choice.index ?? 0))
      if (numbered.every((call, i) => call === calls[i])) return choice
      isSame = false
      return { ...choice, delta: { ...(choice.delta as JsonObject), tool_calls: numbered } }
    })
    return isSame ? null : { ...value, choices }
  }

  #numbered(call: Json, choice: Json): Json {
    if (!isObject(call)) return call
    const last = this.#last.get(choice)
    const own = isString(call.id) ? call.id : ''
    const id = own === '' ? (last?.id ?? '') : own
    if (typeof call.index === 'number') {
      this.#last.set(choice, { index: call.index, id })
      return call
    }
    const isNew = last === undefined || (own === '' ? isWhole(call) : own !== last.id)
    const index = (last?.index ?? -1) + (isNew ? 1 : 0)
    this.#last.set(choice, { index, id })
    const type = isNew && (call.type ?? null) === null ? { type: 'function' } : {}
    return { ...call, index, ...type }
  }
}

/** It has a name and arguments: no other goes on with it. */
function isWhole({ function: tool }: JsonObject): boolean {
  const has = (name: string): boolean => isObject(tool) && (tool[name] ?? '') !== ''
  return has('name') && has('arguments')
}

/** Of the calls in one stream: an event with an index in each; null: none lacks one. */
export function callIndexes(): (event: JsonObject) => JsonObject | null {
  const indexes = new CallIndexes()
  return (event) => indexes.mended(event)
}
