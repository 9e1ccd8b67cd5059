/**
 * What the vendor of a format answers, made of facts: for its own client, without a gateway. Shapes are those of the
 * vendors' references ("The chat completion chunk object", "Streaming messages", "Streaming events" of responses,
 * "GenerateContentResponse"). What it stumbles over here are its own ways.
 */
import type { Json, JsonObject } from '#backends/llm/conversation.ts'
import type { Facts } from './facts.ts'
import type { Client } from './play.ts'

interface Named {
  readonly id: string
  readonly name: string
  /** JSON. */
  readonly args: string
}

interface Vendor {
  /** Words of the format for the facts' reasons to stop. */
  readonly stops: Readonly<Record<string, string>>
  whole(facts: VendorFacts): JsonObject
  /** Data of events. */
  events(facts: VendorFacts): readonly JsonObject[]
  /** Behind its last event. */
  readonly end: string
}

/** The facts, with the format's own word for the end. */
interface VendorFacts extends Omit<Facts, 'calls'> {
  readonly calls: readonly Named[]
}

export interface VendorAnswer {
  readonly contentType: string
  readonly bytes: Buffer
}

export function vendorAnswer(client: Client, facts: Facts, isStreamed: boolean): VendorAnswer {
  const { stops, whole, events, end } = VENDORS[client]
  const calls = facts.calls.map((one, i) => {
    const at = one.indexOf('(')
    return { id: `call_${i}`, name: one.slice(0, at), args: one.slice(at + 1, -1) }
  })
  const all = { ...facts, calls, stop: stops[facts.stop] ?? stops.end! }
  if (!isStreamed) return { contentType: 'application/json', bytes: Buffer.from(JSON.stringify(whole(all))) }
  const lines = events(all).map((data) => {
    const name = client !== 'completions' && typeof data.type === 'string' ? `event: ${data.type}\n` : ''
    return `${name}data: ${JSON.stringify(data)}\n\n`
  })
  return { contentType: 'text/event-stream', bytes: Buffer.from(lines.join('') + end) }
}

const PIECE = 24
const pieces = (text: string): string[] => text.match(new RegExp(`[^]{1,${PIECE}}`, 'gu')) ?? []

const chatUsage = ({ input, output }: VendorFacts): Json =>
  input === null ? null : { prompt_tokens: input, completion_tokens: output ?? 0, total_tokens: input + (output ?? 0) }

const MESSAGES_HEAD = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_sequence: null }
const messagesUsage = ({ input, output }: VendorFacts) => ({ input_tokens: input ?? 0, output_tokens: output ?? 0 })

const chunk = (choices: Json, usage: Json = null): JsonObject => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices,
  usage
})
const delta = (value: JsonObject, finish: Json = null): JsonObject =>
  chunk([{ index: 0, delta: value, logprobs: null, finish_reason: finish }])

const VENDORS: { readonly [C in Client]: Vendor } = {
  completions: {
    stops: { end: 'stop', length: 'length', tools: 'tool_calls', filter: 'content_filter' },
    whole(facts) {
      const tools = facts.calls.map(({ id, name, args }) => ({
        ...{ id, type: 'function' },
        function: { name, arguments: args }
      }))
      const message = { role: 'assistant', content: facts.text, refusal: null }
      const all = tools.length === 0 ? message : { ...message, tool_calls: tools }
      const choices = [{ index: 0, message: all, logprobs: null, finish_reason: facts.stop }]
      return { id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'm', choices, usage: chatUsage(facts) }
    },
    events: (facts) => [
      delta({ role: 'assistant', content: '', refusal: null }),
      ...pieces(facts.text).map((content) => delta({ content })),
      ...facts.calls.flatMap(({ id, name, args }, index) => [
        delta({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }),
        ...pieces(args).map((one) => delta({ tool_calls: [{ index, function: { arguments: one } }] }))
      ]),
      delta({}, facts.stop),
      ...(facts.input === null ? [] : [chunk([], chatUsage(facts))])
    ],
    end: 'data: [DONE]\n\n'
  },
  messages: {
    stops: { end: 'end_turn', length: 'max_tokens', tools: 'tool_use', filter: 'refusal' },
    whole(facts) {
      const tools = facts.calls.map(({ id, name, args }) => ({ type: 'tool_use', id, name, input: JSON.parse(args) }))
      const content = [...(facts.text === '' ? [] : [{ type: 'text', text: facts.text }]), ...tools]
      return { ...MESSAGES_HEAD, content, stop_reason: facts.stop, usage: messagesUsage(facts) }
    },
    events(facts) {
      const blocks = [
        ...(facts.text === '' ? [] : [{ block: { type: 'text', text: '' }, parts: pieces(facts.text).map(textDelta) }]),
        ...facts.calls.map(({ id, name, args }) => ({
          block: { type: 'tool_use', id, name, input: {} },
          parts: pieces(args).map((one) => ({ type: 'input_json_delta', partial_json: one }))
        }))
      ]
      const usage = messagesUsage(facts)
      return [
        { type: 'message_start', message: { ...MESSAGES_HEAD, content: [], stop_reason: null, usage } },
        ...blocks.flatMap(({ block, parts }, index) => [
          { type: 'content_block_start', index, content_block: block },
          ...parts.map((one) => ({ type: 'content_block_delta', index, delta: one })),
          { type: 'content_block_stop', index }
        ]),
        { type: 'message_delta', delta: { stop_reason: facts.stop, stop_sequence: null }, usage },
        { type: 'message_stop' }
      ]
    },
    end: ''
  },
  responses: {
    stops: { end: 'completed', length: 'max_output_tokens', tools: 'completed', filter: 'content_filter' },
    whole: response,
    events(facts) {
      const whole = response(facts)
      const begun = { ...whole, status: 'in_progress', output: [], usage: null, incomplete_details: null }
      const bodies = [
        { type: 'response.created', response: begun },
        ...(whole.output as JsonObject[]).flatMap((item, i) => itemEvents(item, i)),
        { type: `response.${String(whole.status)}`, response: whole }
      ]
      return bodies.map((one, i) => ({ ...one, sequence_number: i }))
    },
    end: ''
  },
  gemini: {
    stops: { end: 'STOP', length: 'MAX_TOKENS', tools: 'STOP', filter: 'SAFETY' },
    whole: (facts) => candidate(facts, [facts.text]),
    events(facts) {
      const parts = pieces(facts.text)
      const before = parts.slice(0, -1).map((text) => ({
        candidates: [{ content: { role: 'model', parts: [{ text }] }, index: 0 }],
        modelVersion: 'm'
      }))
      return [...before, candidate(facts, parts.slice(-1))]
    },
    end: ''
  }
}

const textDelta = (text: string) => ({ type: 'text_delta', text })

function response(facts: VendorFacts): JsonObject {
  const isWhole = facts.stop === 'completed'
  const part = { type: 'output_text', text: facts.text, annotations: [] }
  const message = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content: [part] }
  const tools = facts.calls.map(({ id, name, args }) => ({
    ...{ type: 'function_call', id: `fc_${id}`, call_id: id, status: 'completed' },
    ...{ name, arguments: args }
  }))
  const { input, output } = facts
  const counts = { input_tokens: input ?? 0, output_tokens: output ?? 0, total_tokens: (input ?? 0) + (output ?? 0) }
  const details = { input_tokens_details: { cached_tokens: 0 }, output_tokens_details: { reasoning_tokens: 0 } }
  return {
    ...{ id: 'resp_1', object: 'response', created_at: 1, model: 'm', error: null },
    ...{ parallel_tool_calls: true, tool_choice: 'auto', tools: [] },
    status: isWhole ? 'completed' : 'incomplete',
    incomplete_details: isWhole ? null : { reason: facts.stop },
    output: [...(facts.text === '' ? [] : [message]), ...tools],
    usage: input === null ? null : { ...counts, ...details }
  }
}

function itemEvents(item: JsonObject, index: number): JsonObject[] {
  const at = { item_id: item.id!, output_index: index }
  const ends = { type: 'response.output_item.done', output_index: index, item }
  if (item.type === 'function_call') {
    const args = String(item.arguments)
    const begun = { ...item, status: 'in_progress', arguments: '' }
    return [
      { type: 'response.output_item.added', output_index: index, item: begun },
      ...pieces(args).map((one) => ({ type: 'response.function_call_arguments.delta', ...at, delta: one })),
      { type: 'response.function_call_arguments.done', ...at, arguments: args },
      ends
    ]
  }
  const [part] = item.content as JsonObject[]
  const inPart = { ...at, content_index: 0 }
  return [
    { type: 'response.output_item.added', output_index: index, item: { ...item, status: 'in_progress', content: [] } },
    { type: 'response.content_part.added', ...inPart, part: { ...part!, text: '' } },
    ...pieces(String(part!.text)).map((one) => ({ type: 'response.output_text.delta', ...inPart, delta: one })),
    { type: 'response.output_text.done', ...inPart, text: part!.text! },
    { type: 'response.content_part.done', ...inPart, part: part! },
    ends
  ]
}

function candidate(facts: VendorFacts, texts: readonly string[]): JsonObject {
  const parts = [
    ...texts.filter((text) => text !== '').map((text) => ({ text })),
    ...facts.calls.map(({ name, args }) => ({ functionCall: { name, args: JSON.parse(args) as Json } }))
  ]
  const { input, output } = facts
  const counts = { promptTokenCount: input ?? 0, candidatesTokenCount: output ?? 0 }
  return {
    candidates: [{ content: { role: 'model', parts }, finishReason: facts.stop, index: 0 }],
    ...(input === null ? {} : { usageMetadata: { ...counts, totalTokenCount: input + (output ?? 0) } }),
    modelVersion: 'm'
  }
}
