/**
 * Sound to text and back (OpenAI, API reference: "Create transcription", "Create translation", "Create speech"). Sound
 * is what guards cannot see: where there are any, transcriptions do not pass.
 */

import { secondsOf, speechCost, transcriptionCost } from './media-usage.ts'
import { type CallFields, openaiCall } from './openai-call.ts'
import type { BodyOperationKind, ExpectedCost } from './operation.ts'

declare module './answer-spec.ts' {
  interface OperationRoutes {
    Transcriptions: 'body'
    Translations: 'body'
    Speech: 'body'
  }
}

/** The lowest rate that speech is coded at as a rule (Opus, 8 kbit/s). */
const BYTES_PER_SECOND = 1000
/** gpt-4o-transcribe: 0.006 dollars for a minute, at 6 dollars for a million tokens ("Pricing" of OpenAI). */
const TOKENS_PER_SECOND = 17
/** Of what is said, as text. */
const WORDS_PER_SECOND = 5

function heard({ bytesLength }: CallFields): ExpectedCost {
  const seconds = Math.ceil(bytesLength / BYTES_PER_SECOND)
  const [inputTokens, outputTokens] = [seconds * TOKENS_PER_SECOND, seconds * WORDS_PER_SECOND]
  return { inputTokens, outputTokens, unitsMax: secondsOf(seconds) }
}

const LISTENING = { takes: 'form', outputType: 'text', guarded: null, expects: heard, cost: transcriptionCost } as const

export const transcriptions: BodyOperationKind = openaiCall({
  ...LISTENING,
  type: 'Transcriptions',
  end: '/audio/transcriptions',
  name: 'transcription',
  capability: 'transcriptions'
})

export const translations: BodyOperationKind = openaiCall({
  ...LISTENING,
  type: 'Translations',
  end: '/audio/translations',
  name: 'translation',
  capability: 'translations'
})

/** gpt-4o-mini-tts: a second has some 15 characters, and 20 tokens of sound. */
const SOUND_TOKENS_PER_CHARACTER = 2

export const speech: BodyOperationKind = openaiCall({
  type: 'Speech',
  end: '/audio/speech',
  takes: 'json',
  name: 'speech',
  capability: 'speech',
  outputType: 'speech',
  gemini: 'speakContent',
  guarded: ['input', 'instructions'],
  expects: ({ text, bytesLength }) => {
    const characters = [...(text('input') ?? '')].length
    const outputTokens = characters * SOUND_TOKENS_PER_CHARACTER
    return { inputTokens: bytesLength, outputTokens, units: { counts: { character: characters } } }
  },
  cost: speechCost
})
