/** Time for messages, with a clock of its own. */
import { deepEqual, equal } from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { GrpcStreamEvents } from '#engine/contract/service.ts'
import { SYSTEM_TIME } from '#engine/contract/time.ts'
import {
  ProcessingRequest,
  ProcessingResponse
} from '#engine/proto/generated/envoy/service/ext_proc/v3/external_processor.ts'
import { Conversation } from './conversation.ts'
import type { Answer } from './lane.ts'
import { answer, answerTo } from './services.fixture.ts'

const QUESTION: ProcessingRequest = ProcessingRequest.decode(Buffer.alloc(0))

const QUESTION_OF_HEADERS: ProcessingRequest = {
  ...QUESTION,
  request: { $case: 'requestHeaders', value: { headers: undefined, attributes: {}, endOfStream: true } }
}

function open(maxMessageTimeoutMs: number) {
  const clocks: { ms: number; ring: () => void; isOff: boolean }[] = []
  const answers: Answer[] = []
  let events: GrpcStreamEvents | null = null
  let isCancelled = false
  const client = {
    name: 'processor',
    unary: () => ({ cancel() {} }),
    stream(_: unknown, listener: GrpcStreamEvents) {
      events = listener
      const cancel = () => {
        isCancelled = true
      }
      return { send: () => true, finish() {}, detach() {}, resume() {}, cancel }
    }
  }
  const after = (ms: number, ring: () => void) => {
    const clock = { ms, ring, isOff: false }
    clocks.push(clock)
    return () => {
      clock.isOff = true
    }
  }
  const options = { messageTimeoutMs: 200, maxMessageTimeoutMs, messageBytesMax: 1000, ignoresAnswers: false }
  const conversation = new Conversation({ ...options, client, time: { ...SYSTEM_TIME, after } }, null)
  const ask = () => {
    conversation.request.next((one) => answers.push(one))
    conversation.send(conversation.request, QUESTION)
  }
  ask()
  return {
    answers,
    ask,
    conversation,
    end: () => events!.ended({ status: 0, message: '', trailers: '' }),
    running: () => clocks.filter(({ isOff }) => !isOff).map(({ ms }) => ms),
    ring: () => clocks.find(({ isOff }) => !isOff)!.ring(),
    say: (response: ProcessingResponse) => events!.message(ProcessingResponse.encode(response).finish()),
    isCancelled: () => isCancelled
  }
}

const more = (seconds: number, nanos = 0) =>
  answer(undefined, { overrideMessageTimeout: { seconds: BigInt(seconds), nanos } })

describe('the time for one message', () => {
  it('is up: the exchange is told, and the stream is over', () => {
    const { answers, ring, isCancelled, say } = open(0)
    ring()
    deepEqual(answers, [{ kind: 'failed', isLate: true, detail: 'processor: it has not answered a message in time' }])
    equal(isCancelled(), true)
    say(more(1))
    equal(answers.length, 1)
  })

  it('is extended once, as far as it may be', () => {
    const { say, running, answers } = open(60_000)
    say(more(61))
    say(more(0, 500_000))
    deepEqual(running(), [200])
    say(more(30))
    deepEqual(running(), [30_000])
    say(more(50))
    deepEqual(running(), [30_000])
    say(answer({ $case: 'requestHeaders', value: { response: undefined } }))
    deepEqual([running(), answers.length], [[], 1])
  })

  it('is not extended where nothing says how far', () => {
    const { say, running } = open(0)
    say(more(1))
    deepEqual(running(), [200])
  })

  it('begins anew with each message', () => {
    const { say, running, ask } = open(60_000)
    say(more(30))
    say(answerTo({ ...QUESTION, request: { $case: 'requestHeaders', value: NO_HEADERS } }))
    ask()
    deepEqual(running(), [200])
    say(more(40))
    deepEqual(running(), [40_000])
  })
})

const NO_HEADERS = { headers: undefined, attributes: {}, endOfStream: true }

describe('the end of a conversation', () => {
  it('is left to the service, for a time', () => {
    const { conversation, running, ring, isCancelled, say } = open(0)
    say(answerTo(QUESTION_OF_HEADERS))
    conversation.finish()
    deepEqual([isCancelled(), running()], [false, [1000]])
    ring()
    equal(isCancelled(), true)
  })

  it('is good where the service ends it', () => {
    const { conversation, running, isCancelled, end } = open(0)
    conversation.leave()
    end()
    deepEqual([isCancelled(), running()], [false, []])
  })
})
