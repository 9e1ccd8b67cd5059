/**
 * A conversation as `input` has it: turns with their roles where the model takes those, else one prompt. A question
 * alone is the prompt; a conversation is written as a play is, with the role ahead of each turn.
 */
import type { Conversation, JsonObject, MediaPart, Turn } from '#backends/llm/conversation.ts'
import type { Losses } from '#backends/llm/formats/format.ts'
import { fieldPath, partPath } from '#backends/llm/formats/paths.ts'
import type { Inputs } from './models.ts'

export function writeContent(conversation: Conversation, inputs: Inputs, losses: Losses): JsonObject {
  const { system, turns, origin } = conversation
  const images = imagesOf(conversation, inputs, losses)
  const instructions = system.map(({ text }) => text).join('\n\n')
  const texts = turns.map((turn, i) => textOf(turn, (j) => partPath(origin, i, j), losses))
  // Beside pictures the prompt is what they are shown with.
  if (inputs.hasMessages === true && Object.keys(images).length === 0) {
    const messages = turns.map(({ role }, i): JsonObject => ({ role, content: texts[i]! }))
    return { messages: instructions === '' ? messages : [{ role: 'system', content: instructions }, ...messages] }
  }
  if (turns.length > 1) losses.rewrite(fieldPath(origin, 'turns'))
  const prompt = promptOf(turns, texts)
  if (instructions === '') return { prompt, ...images }
  if (inputs.system === null) return { prompt: `${instructions}\n\n${prompt}`, ...images }
  return { prompt, [inputs.system]: instructions, ...images }
}

const SPEAKERS: { readonly [role in Turn['role']]: string } = {
  user: 'User',
  assistant: 'Assistant',
  system: 'System'
}

/** It ends where the model is to speak; what a last turn of the model's own begins is gone on with. */
function promptOf(turns: readonly Turn[], texts: readonly string[]): string {
  const [only] = turns
  if (turns.length === 1 && only!.role === 'user') return texts[0]!
  const lines = turns.map(({ role }, i) => `${SPEAKERS[role]}: ${texts[i]!}`)
  if (turns.at(-1)?.role !== 'assistant') lines.push(`${SPEAKERS.assistant}:`)
  return lines.join('\n\n')
}

/** Pictures stand elsewhere. */
function textOf({ parts }: Turn, at: (part: number) => string, losses: Losses): string {
  return parts
    .flatMap((part, j) => {
      if (part.kind === 'text' || part.kind === 'refusal') return [part.text]
      if (part.kind !== 'image') losses.add(at(j))
      return []
    })
    .join('\n')
}

/** Addresses of the web, and data: the API takes both where a model wants a file ("Input files"). */
function imagesOf({ turns, origin }: Conversation, { images }: Inputs, losses: Losses): JsonObject {
  const urls: string[] = []
  const last = turns.length - 1
  for (const [i, { parts }] of turns.entries()) {
    for (const [j, part] of parts.entries()) {
      if (part.kind !== 'image') continue
      const url = urlOf(part)
      // Only those of the question are known to belong to it.
      const isTaken = url !== null && images !== undefined && i === last && urls.length < images.max
      if (isTaken) urls.push(url)
      else losses.add(partPath(origin, i, j))
      if (isTaken && part.detail !== null) losses.add(`${partPath(origin, i, j)}.detail`, 'harmless')
    }
  }
  if (urls.length === 0) return {}
  return { [images!.name]: images!.max === 1 ? urls[0]! : urls }
}

function urlOf({ source, mediaType }: MediaPart): string | null {
  if (source.kind === 'base64') return `data:${mediaType ?? 'image/png'};base64,${source.data}`
  return source.kind === 'url' ? source.url : null
}
