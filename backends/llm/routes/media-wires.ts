/**
 * Speech and pictures as vendors make them that do not speak as OpenAI does. Sources: ai.google.dev, "Speech
 * generation" and "Image generation" (generateContent with a response modality; the same on Vertex AI); Mistral, "Audio
 * speech" (voice_id, audio_data). OpenAI, API reference: "Create speech", "Create image".
 */
import { type JsonObject, NO_USAGE, type Usage } from '#backends/llm/conversation.ts'
import { compact, type Fields } from '#backends/llm/formats/fields.ts'
import { FilteredError, FormatError } from '#backends/llm/formats/format.ts'
import { isFilterReason } from '#backends/llm/formats/gemini/answer.ts'
import { readUsage } from '#backends/llm/formats/gemini/usage.ts'
import type { Wire } from '#backends/llm/providers/provider.ts'

/** An answer that is no JSON. */
export interface MediaBytes {
  readonly bytes: Buffer
  readonly contentType: string
}

/** `form`: of what is wanted, "" where the client does not say; plain data. */
export interface MediaWire {
  /** Of the path, instead of that of chat. */
  readonly end: string
  /** The field of the request that says what the answer is to be, and what it may be; the first if nothing is said. */
  readonly form: string
  readonly forms: readonly string[]
  /** Throws FormatError. Fields that it does not read are left to the caller; `lost` has those that only steer. */
  write(fields: Fields, form: string, model: string): { readonly body: JsonObject; readonly lost: readonly string[] }
  /** Throws FormatError. */
  answer(answer: Fields, form: string): JsonObject | MediaBytes
  /** Null: it does not say. Throws FormatError. */
  usage(answer: Fields): Usage | null
}

// --- speech ---

const GEMINI_RATE = 24_000
const PCM_RATE = /\brate=(\d+)/
const TYPES: Readonly<Record<string, string>> = {
  wav: 'audio/wav',
  pcm: 'audio/pcm',
  mp3: 'audio/mpeg',
  opus: 'audio/opus',
  flac: 'audio/flac'
}

/** `speed`, and streams of events, have no place: at the usual speed, and in one piece, nothing is asked for. */
function refuseSpeed(fields: Fields): void {
  const speed = fields.optionalNumber('speed')
  if (speed !== null && speed !== 1) throw new FormatError('speed', 'must be 1 for this provider')
  const stream = fields.optionalString('stream_format')
  if (stream !== null && stream !== 'audio') throw new FormatError('stream_format', 'must be audio for this provider')
}

const WAV_HEADER_BYTES = 44

/** Samples of 16 bits, one channel (RIFF/WAVE, "Multimedia Programming Interface and Data Specifications 1.0"). */
function wav(samples: Buffer, rate: number): Buffer {
  const header = Buffer.alloc(WAV_HEADER_BYTES)
  header.write('RIFF', 0, 'latin1')
  header.writeUInt32LE(WAV_HEADER_BYTES - 8 + samples.length, 4)
  header.write('WAVEfmt ', 8, 'latin1')
  header.writeUInt32LE(16, 16)
  header.writeUInt16LE(1, 20)
  header.writeUInt16LE(1, 22)
  header.writeUInt32LE(rate, 24)
  header.writeUInt32LE(rate * 2, 28)
  header.writeUInt16LE(2, 32)
  header.writeUInt16LE(16, 34)
  header.write('data', 36, 'latin1')
  header.writeUInt32LE(samples.length, 40)
  return Buffer.concat([header, samples])
}

/** The parts with bytes of the first candidate. Throws FormatError, with the reason that Google gives, if none has. */
function inlineParts(answer: Fields, what: string): readonly { readonly type: string; readonly data: string }[] {
  const candidate = answer.any('candidates') === null ? undefined : answer.objects('candidates')[0]
  const content = candidate?.optionalObject('content')
  const parts =
    content === undefined || content === null || content.any('parts') === null ? [] : content.objects('parts')
  const found = parts.flatMap((part) => {
    const inline = part.any('thought') === true ? null : part.optionalObject('inlineData')
    return inline === null ? [] : [{ type: inline.optionalString('mimeType') ?? '', data: inline.string('data') }]
  })
  if (found.length > 0) return found
  const blocked = answer.optionalObject('promptFeedback')?.optionalString('blockReason')
  const reason = candidate?.optionalString('finishReason') ?? null
  const filter = blocked ?? (reason !== null && isFilterReason(reason) ? reason : null)
  if (filter !== null) throw new FilteredError('', `the provider's filter has refused the ${what} (${filter})`)
  throw new FormatError('', `there is no ${what} in it${reason === null ? '' : ` (${reason})`}`)
}

function geminiUsage(answer: Fields): Usage | null {
  const usage = answer.optionalObject('usageMetadata')
  return usage === null ? null : readUsage(usage)
}

const speakContent: MediaWire = {
  end: ':generateContent',
  form: 'response_format',
  // Samples, and what stands ahead of them in a file: nothing is coded here.
  forms: ['wav', 'pcm'],
  write: (fields) => {
    const [text, how] = [fields.string('input'), fields.optionalString('instructions')]
    const voiceName = fields.optionalString('voice')
    refuseSpeed(fields)
    const voice = voiceName === null ? {} : { speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName } } } }
    // "Controlling speech style with prompts".
    const parts = [{ text: how === null || how === '' ? text : `${how}:\n${text}` }]
    const body = {
      contents: [{ role: 'user', parts }],
      generationConfig: { responseModalities: ['AUDIO'], ...voice }
    }
    return { body, lost: [] }
  },
  answer: (answer, form) => {
    const parts = inlineParts(answer, 'sound')
    const rate = Number(PCM_RATE.exec(parts[0]!.type)?.[1] ?? GEMINI_RATE)
    const samples = Buffer.concat(parts.map(({ data }) => Buffer.from(data, 'base64')))
    if (form === 'wav') return { bytes: wav(samples, rate), contentType: TYPES.wav! }
    // OpenAI's clients know of one rate.
    if (rate !== GEMINI_RATE) throw new FormatError('', `its sound has ${rate} samples a second, and pcm 24000`)
    return { bytes: samples, contentType: TYPES.pcm! }
  },
  usage: geminiUsage
}

const voiceId: MediaWire = {
  end: '/audio/speech',
  form: 'response_format',
  forms: ['mp3', 'wav', 'pcm', 'flac', 'opus'],
  write: (fields, form, model) => {
    refuseSpeed(fields)
    const body = { model, input: fields.string('input'), voice_id: fields.optionalString('voice') }
    return { body: compact({ ...body, response_format: form, stream: false }), lost: [] }
  },
  answer: (answer, form) => ({ bytes: Buffer.from(answer.string('audio_data'), 'base64'), contentType: TYPES[form]! }),
  usage: () => null
}

// --- pictures ---

/** "Aspect ratios and image size". */
const RATIOS = ['1:1', '2:3', '3:2', '3:4', '4:3', '4:5', '5:4', '9:16', '16:9', '21:9']
/** Of OpenAI's sizes: 1792x1024 is 7:4, for which 16:9 is asked. */
const RATIO_ERROR_MAX = 0.02

/** Null: the model decides. Throws FormatError. */
function ratioOf(size: string | null): string | null {
  if (size === null || size === 'auto') return null
  const [, width, height] = /^(\d{1,5})x(\d{1,5})$/.exec(size) ?? []
  const wanted = Number(width) / Number(height)
  const found = RATIOS.find((ratio) => {
    const [w, h] = ratio.split(':').map(Number)
    return Math.abs(w! / h! / wanted - 1) <= RATIO_ERROR_MAX
  })
  if (found === undefined) throw new FormatError('size', `must have one of the ratios ${RATIOS.join(', ')}`)
  return found
}

/** Values that ask for nothing, or for what is done anyway. */
const USUAL: Readonly<Record<string, readonly unknown[]>> = {
  n: [1],
  background: ['auto', 'opaque'],
  output_format: ['png'],
  stream: [false],
  partial_images: [0]
}

const drawContent: MediaWire = {
  end: ':generateContent',
  form: 'response_format',
  forms: ['b64_json'],
  write: (fields) => {
    for (const [name, values] of Object.entries(USUAL)) {
      const value = fields.any(name)
      if (value !== null && !values.includes(value))
        throw new FormatError(name, `must be ${values.join(' or ')} for this provider`)
    }
    const size = fields.optionalString('size')
    const aspectRatio = ratioOf(size)
    const imageConfig = aspectRatio === null ? {} : { imageConfig: { aspectRatio } }
    const body = {
      contents: [{ role: 'user', parts: [{ text: fields.string('prompt') }] }],
      generationConfig: { responseModalities: ['IMAGE'], ...imageConfig }
    }
    // Its models have their own sizes of a ratio.
    return { body, lost: aspectRatio === null ? [] : ['size'] }
  },
  answer: (answer) => {
    const data = inlineParts(answer, 'picture').map((part) => ({ b64_json: part.data }))
    const usage = geminiUsage(answer)
    const made = { created: Math.floor(Date.now() / 1000), data }
    if (usage === null) return made
    const { input, output, inputImage } = usage
    const details = { text_tokens: input - inputImage, image_tokens: inputImage }
    const counted = { input_tokens: input, output_tokens: output, total_tokens: input + output }
    return { ...made, usage: { ...counted, input_tokens_details: details } }
  },
  // What a model thinks beside it is told as text.
  usage: (answer) => geminiUsage(answer) ?? { ...NO_USAGE }
}

const WIRES: { readonly [wire in Wire]?: MediaWire } = { speakContent, voiceId, drawContent }

export const mediaWire = (wire: Wire | null): MediaWire | null => (wire === null ? null : (WIRES[wire] ?? null))

export const isMediaBytes = (made: JsonObject | MediaBytes): made is MediaBytes => Buffer.isBuffer(made.bytes)
