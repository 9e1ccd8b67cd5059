/**
 * Input by kind, no token in two of them: audio and images that were read from a cache have prices of their own, and
 * providers count them both as what they are and as cached. Sources: OpenAI, API reference, `cached_tokens_details` of
 * the Realtime API (audio_tokens has them too); chat completions and Responses have no such split.
 */
import type { Usage } from '#backends/llm/conversation.ts'

/** As a provider counts them. */
export interface ReportedInput {
  readonly input: number
  readonly cacheRead: number
  /** To caches. */
  readonly written: number
  readonly audio: number
  readonly image: number
  /** What of audio and images was cached; null: it does not say. */
  readonly cachedAudio: number | null
  readonly cachedImage: number | null
}

type InputKinds = Pick<Usage, 'inputAudio' | 'inputImage' | 'cacheReadAudio' | 'cacheReadImage'>

/** Most calls: nothing is made for them. */
const NEITHER: InputKinds = { inputAudio: 0, inputImage: 0 }

export function inputKinds(reported: ReportedInput): InputKinds {
  const { input, cacheRead, written, audio, image } = reported
  if (audio === 0 && image === 0) return NEITHER
  // Parts that are more than the whole share tokens: as many as they are too many.
  const shared = Math.max(cacheRead + written + audio + image - input, 0)
  const isSplit = reported.cachedAudio !== null || reported.cachedImage !== null
  const cachedAudio = Math.min(isSplit ? (reported.cachedAudio ?? 0) : shared, audio, cacheRead)
  const left = isSplit ? (reported.cachedImage ?? 0) : shared - cachedAudio
  const cachedImage = Math.min(left, image, cacheRead - cachedAudio)
  return {
    inputAudio: audio - cachedAudio,
    inputImage: image - cachedImage,
    ...(cachedAudio > 0 ? { cacheReadAudio: cachedAudio } : {}),
    ...(cachedImage > 0 ? { cacheReadImage: cachedImage } : {})
  }
}

/** What was audio and what was an image of the input, cached or not: as most providers count them. */
export const allAudio = ({ inputAudio, cacheReadAudio = 0 }: Usage): number => inputAudio + cacheReadAudio
export const allImage = ({ inputImage, cacheReadImage = 0 }: Usage): number => inputImage + cacheReadImage
