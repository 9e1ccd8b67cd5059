/**
 * AWS Bedrock's Converse and ConverseStream (API reference of Amazon Bedrock Runtime), towards providers and clients.
 *
 * - The model and whether the answer is streamed are in the path: /model/{modelId}/converse and /converse-stream.
 * - Streams are binary (event-stream.ts): the decoder's messages are what the reader takes; the writer's text is one
 *   line of JSON per event, which frameEvents puts into messages.
 * - Tool names that break Bedrock's rule are escaped, and read back in answers (converse/names.ts).
 * - A body that was read from Converse is written back as it came, but for what says the same in fewer words:
 *   `status: "success"` of tool results, objects without members, spaces in the text of an output schema.
 */
import type { ChatFormat } from '#backends/llm/format.ts'
import { readAnswer, readCost, writeAnswer } from './converse/answer.ts'
import { readError, writeError } from './converse/errors.ts'
import { readRequest } from './converse/read-request.ts'
import { streamReader } from './converse/read-stream.ts'
import { writeRequest } from './converse/write-request.ts'
import { streamWriter } from './converse/write-stream.ts'

export { errorTypeOf } from './converse/errors.ts'

export const converse: ChatFormat = {
  name: 'converse',
  readRequest,
  writeRequest,
  readAnswer,
  readCost,
  writeAnswer,
  streamReader,
  streamWriter,
  readError,
  writeError
}
