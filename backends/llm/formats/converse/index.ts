/**
 * AWS Bedrock's Converse and ConverseStream (API reference of Amazon Bedrock Runtime), towards providers and clients.
 *
 * - The model and whether the answer is streamed are in the path: /model/{modelId}/converse and /converse-stream.
 * - Streams are binary (aws-event-stream.ts): the reader takes the decoder's messages; the writer's text is one line of
 *   JSON per event, which frameEvents puts into messages.
 * - Tool names that break Bedrock's rule are escaped, and read back in answers (converse/names.ts).
 * - A body that was read from Converse is written back as it came, but for what says the same in fewer words:
 *   `status: "success"` of tool results, objects without members, spaces in the text of an output schema.
 */
import type { ChatFormat } from '#backends/llm/formats/format.ts'
import { readAnswer, readCost, writeAnswer } from './answer.ts'
import { readError, writeError } from './error.ts'
import { readRequest } from './request-read.ts'
import { writeRequest } from './request-write.ts'
import { streamReader } from './stream-read.ts'
import { streamWriter } from './stream-write.ts'

export { errorTypeOf } from './error.ts'

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
