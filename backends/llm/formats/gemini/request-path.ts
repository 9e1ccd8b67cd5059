/** The path of a request says the model, and whether the answer is streamed. */
import { FormatError } from '#backends/llm/formats/format.ts'
import { decodedName, modelPathOf } from '#backends/llm/request/model-path.ts'

/** Throws FormatError. */
export function readPath(path: string): { readonly model: string; readonly isStreamed: boolean } {
  const { name, method } = modelPathOf(path) ?? { name: '', method: '' }
  const isStreamed = method === 'streamGenerateContent'
  if (!isStreamed && method !== 'generateContent')
    throw new FormatError('', 'the path must end with /models/MODEL:generateContent')
  return { model: decodedName(name), isStreamed }
}
