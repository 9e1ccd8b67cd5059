/** What every answer of a workload must be, for the proxies that pass it on and for those that translate it. */

import { completions } from '#backends/llm/formats/completions/index.ts'
import { Losses } from '#backends/llm/formats/format.ts'
import { messages } from '#backends/llm/formats/messages/index.ts'
import { ANSWERS, type AnswerName } from './backend/answers.ts'
import { MESSAGE, MESSAGE_EVENTS } from './backend/models.ts'
import type { Expected } from './generator/job.ts'
import { expectedOfLearned, type Learned } from './learned.ts'

/** Answers of the backend, and translations of them by Weir. */
export type ExpectedName = AnswerName | 'convertedChat' | 'convertedEvents'

/** Ten digits, as the time is written; what stands there in an answer is not compared. */
const AT = 1_000_000_000_000
const TIME = /"created":\d{10}/g
const CONTEXT = { model: 'm', wantsUsage: true, at: AT, id: 'id' }

export function expectedOf(name: ExpectedName | Learned): Expected {
  if (typeof name === 'object') return expectedOfLearned(name)
  if (name === 'convertedChat') return masked(convertedChat())
  if (name === 'convertedEvents') return masked(convertedEvents())
  return { status: 200, body: ANSWERS[name] }
}

function masked(text: string): Expected {
  const unlike = [...text.matchAll(TIME)].map(({ index, 0: { length } }) => [index, index + length] as const)
  return { status: 200, body: Buffer.from(text), unlike }
}

function convertedChat(): string {
  const answer = messages.readAnswer(JSON.parse(MESSAGE.toString()))
  return JSON.stringify(completions.writeAnswer(answer, CONTEXT, new Losses()))
}

function convertedEvents(): string {
  const [reader, writer] = [messages.streamReader(), completions.streamWriter(CONTEXT)]
  const wire = MESSAGE_EVENTS.map((text) => ({
    name: /event: (.*)/.exec(text)![1]!,
    data: /data: (.*)/.exec(text)![1]!
  }))
  return wire.flatMap((event) => reader.read(event).map((chatEvent) => writer.write(chatEvent))).join('')
}
