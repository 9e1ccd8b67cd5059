/**
 * Google's paths name the model and what is asked of it: `.../models/MODEL:METHOD`. Names have colons ("llama3:8b",
 * Bedrock's versions) and slashes ("meta/llama-4"), plain or percent-encoded; the method is behind the last colon.
 */
import { FormatError } from '#backends/llm/formats/format.ts'

export interface ModelPath {
  /** As it stands in the path. */
  readonly name: string
  readonly method: string
}

const MODELS = '/models/'
const METHOD = /^[A-Za-z]+$/

/** Null: it is no such path. Linear: paths are a caller's. */
export function modelPathOf(path: string): ModelPath | null {
  const start = path.indexOf(MODELS) + MODELS.length
  const colon = path.lastIndexOf(':')
  if (start < MODELS.length || colon <= start) return null
  const method = path.slice(colon + 1)
  return METHOD.test(method) ? { name: path.slice(start, colon), method } : null
}

/** Google's own ("Gemini API", "Vertex AI": methods of models): a name may look like one ("llama3:latest"). */
const METHODS: ReadonlySet<string> = new Set([
  ...['generateContent', 'streamGenerateContent', 'countTokens', 'embedContent', 'batchEmbedContents'],
  ...['batchGenerateContent', 'asyncBatchEmbedContent', 'predict', 'predictLongRunning', 'rawPredict'],
  ...['streamRawPredict', 'serverStreamingPredict', 'computeTokens', 'generateAnswer', 'bidiGenerateContent']
])

/** Whether something is asked of a model at `path`, and not about it. */
export function asksModel(path: string): boolean {
  const method = modelPathOf(path)?.method
  return method !== undefined && METHODS.has(method)
}

/** A name as it stands in a path. Throws FormatError. */
export function decodedName(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new FormatError('', 'the name of the model in the path is not valid percent-encoding')
  }
}
