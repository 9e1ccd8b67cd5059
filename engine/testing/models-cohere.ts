/** Cohere's chat (API reference, "Chat", version 2) of the test's models. */
import { type Body, PIECES, TOOL_ARGUMENTS } from '#backends/demo/models/wire.ts'

const USAGE = {
  billed_units: { input_tokens: 12, output_tokens: 7 },
  tokens: { input_tokens: 507, output_tokens: 10 },
  cached_tokens: 448
}

/** As mockAnswer of the other formats. Without events where it is not streamed. */
export function cohereAnswer(body: Body, isStreamed: boolean) {
  return { status: 200, whole: whole(body), events: isStreamed ? events(body) : null }
}

export const COHERE_BUSY = { status: 429, whole: { id: 'i', message: 'Too many requests, please wait.' }, events: null }

const callOf = (body: Body, text: string) => ({
  id: 'f_1',
  type: 'function',
  function: { name: body.tools?.[0]?.function?.name as string, arguments: text }
})
const hasTool = (body: Body): boolean => body.tools?.[0] !== undefined

function whole(body: Body): object {
  const message = hasTool(body)
    ? { role: 'assistant', tool_calls: [callOf(body, TOOL_ARGUMENTS)] }
    : { role: 'assistant', content: [{ type: 'text', text: PIECES.join('') }] }
  return { id: 'cohere-1', message, finish_reason: hasTool(body) ? 'TOOL_CALL' : 'COMPLETE', usage: USAGE }
}

function events(body: Body): (readonly [name: string, event: object])[] {
  const event = (type: string, message: object | null, more: object = {}) =>
    [type, { type, ...(message === null ? {} : { index: 0, delta: { message } }), ...more }] as const
  const content = (text: string) => ({ content: { text } })
  const pieces = [TOOL_ARGUMENTS.slice(0, 5), TOOL_ARGUMENTS.slice(5)]
  const block = hasTool(body)
    ? [
        event('tool-call-start', { tool_calls: callOf(body, '') }),
        ...pieces.map((text) => event('tool-call-delta', { tool_calls: { function: { arguments: text } } })),
        event('tool-call-end', null, { index: 0 })
      ]
    : [
        event('content-start', { content: { type: 'text', text: '' } }),
        ...PIECES.map((text) => event('content-delta', content(text))),
        event('content-end', null, { index: 0 })
      ]
  const delta = { finish_reason: hasTool(body) ? 'TOOL_CALL' : 'COMPLETE', usage: USAGE }
  return [
    event('message-start', { role: 'assistant', content: [] }, { id: 'cohere-1' }),
    ...block,
    event('message-end', null, { delta })
  ]
}
