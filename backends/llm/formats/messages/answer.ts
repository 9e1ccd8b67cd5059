/** The answer of POST /v1/messages, and an answer as one (Messages API, "Message"). */
import type { Answer, FormatName, Json, JsonObject, Part } from '#backends/llm/conversation.ts'
import { compact, Fields, type Writable } from '#backends/llm/formats/fields.ts'
import type { ChatFormat } from '#backends/llm/formats/format.ts'
import { loseUnknown, restoreUnknown } from '#backends/llm/formats/unknown-fields.ts'
import { sealSignature } from '#backends/llm/translate/signature.ts'
import { readAnswerContent } from './content-read.ts'
import { type BlockScene, parsedArguments, thinkingBlock, writeBlock } from './content-write.ts'
import { loseMedia, readAnswerTier, readStop, readUsage, writeAnswerTier, writeStop, writeUsage } from './usage.ts'

export const readAnswer: ChatFormat['readAnswer'] = (body): Answer => {
  const message = Fields.of(body, '')
  const unknown = new Map<string, Json>()
  const usage = message.optionalObject('usage')
  const reason = message.optionalString('stop_reason')
  const stop = readStop(reason)
  message.any('type')
  message.any('role')
  const answer: Answer = {
    id: message.label('id') ?? '',
    model: message.label('model') ?? '',
    created: 0,
    choices: [
      {
        parts: readAnswerContent(message.list('content'), 'content', unknown),
        stop,
        stopSequence: message.optionalString('stop_sequence'),
        logprobs: null
      }
    ],
    usage: usage === null ? null : readUsage(usage),
    serviceTier: readAnswerTier(usage?.optionalString('service_tier') ?? null),
    origin: { format: 'messages', unknownFields: unknown }
  }
  // A word that the stop reasons of the contract do not have.
  if (reason !== null && reason !== writeStop(stop, false)) unknown.set('stop_reason', reason)
  usage?.leaveUnknown(unknown)
  message.leaveUnknown(unknown)
  return answer
}

export const readSummary: ChatFormat['readSummary'] = (body) => {
  const message = Fields.of(body, '')
  const usage = message.optionalObject('usage')
  return {
    usage: usage === null ? null : readUsage(usage),
    model: message.optionalString('model') ?? '',
    id: message.label('id') ?? '',
    serviceTier: readAnswerTier(usage?.text('service_tier') ?? null),
    stops: [readStop(message.text('stop_reason'))]
  }
}

export const writeAnswer: ChatFormat['writeAnswer'] = (answer, context, losses): JsonObject => {
  const { choices, usage } = answer
  const from = answer.origin.format
  const isOwn = from === 'messages'
  if (!isOwn) loseUnknown(answer.origin.unknownFields, losses)
  const choice = choices[0]
  for (let i = 1; i < choices.length; i++) losses.add(choicePath(from, i))
  if (choice !== undefined && choice.logprobs !== null) losses.add(`${choicePath(from, 0)}.logprobs`)
  if (choice?.stop === 'error') losses.add(`${choicePath(from, 0)}.finish_reason`)
  const tier = answer.serviceTier
  if (tier !== null && writeAnswerTier(tier) === null)
    losses.add(from === 'gemini' || from === 'converse' ? 'serviceTier' : 'service_tier')
  loseMedia(usage, from, losses)
  const parts = choice?.parts ?? []
  const content: Json[] = []
  const scene = { isOwn, losses }
  for (const [i, part] of parts.entries()) {
    const block = writePart(part, `${choicePath(from, 0)}.content[${i}]`, content, scene)
    if (block !== null) content.push(block)
    if (part.kind === 'toolCall' && part.signature !== null) content.push(callSealBlock(part.signature))
  }
  const hasRefusal = parts.some((part) => part.kind === 'refusal')
  const body: Writable = {
    id: answer.id === '' ? `msg_${context.id}` : answer.id,
    type: 'message',
    role: 'assistant',
    model: context.model,
    content,
    stop_reason: writeStop(choice?.stop ?? 'end', hasRefusal),
    stop_sequence: choice?.stopSequence ?? null,
    usage: writeUsage(usage, tier)
  }
  if (isOwn) restoreUnknown(body, answer.origin, 'messages', losses)
  return body
}

/** Of answer `i`. */
const choicePath = (format: FormatName, i: number): string => `${format === 'gemini' ? 'candidates' : 'choices'}[${i}]`

/** As in a request, but thoughts of all providers are written, and an answer has no media and no tool results. */
function writePart(part: Part, path: string, list: readonly Json[], scene: BlockScene): JsonObject | null {
  switch (part.kind) {
    case 'thinking':
      return thinkingBlock(part, part.signature)
    case 'toolCall': {
      const input = parsedArguments(part.arguments, path, scene)
      return compact({ type: 'tool_use', id: part.id, name: part.name, input })
    }
    case 'text':
    case 'refusal':
      return { type: 'text', text: part.text }
    case 'opaque':
      return writeBlock(part, path, list, scene)
    default:
      scene.losses.add(path)
      return null
  }
}

/** See CALL_SEAL. */
export function callSealBlock(signature: Parameters<typeof sealSignature>[0]): JsonObject {
  return { type: 'redacted_thinking', data: `call.${sealSignature(signature, 'messages')}` }
}
