/**
 * Events of a prediction, as predictions/prediction.ts makes them: `prediction` is the state that it is in, without
 * what it has put out where `output` has told that in pieces; `error` ends it.
 */
import type { ChatEvent } from '#backends/llm/conversation.ts'
import { Fields, parsedObject } from '#backends/llm/formats/fields.ts'
import { FormatError, type StreamReader, type WireEvent } from '#backends/llm/formats/format.ts'
import { emptyPart } from '#backends/llm/formats/parts.ts'
import { secondsOf, summaryOf } from './answer.ts'
import { textOfOutput } from './content-read.ts'
import { readError } from './error.ts'

const NONE: readonly ChatEvent[] = []
/** Of an error without one. */
const FAILED = 502

export const streamReader = (): StreamReader => new PredictionReader()

class PredictionReader implements StreamReader {
  #hasStarted = false
  #hasSpoken = false

  read({ name, data }: WireEvent): readonly ChatEvent[] {
    if (name !== 'output' && name !== 'prediction' && name !== 'error') return NONE
    const event = new Fields(parsedObject(data), '')
    if (name === 'output') return this.#say(event.text('output') ?? '')
    if (name === 'prediction') return this.#state(event)
    const { status } = event.value
    const isStatus = typeof status === 'number' && status >= 400 && status <= 599
    return [...this.#start(''), ...this.#close(), { kind: 'error', error: readError(isStatus ? status : FAILED, data) }]
  }

  #state(event: Fields): readonly ChatEvent[] {
    const { id, model, usage, stops } = summaryOf(event)
    const started = this.#start(id, model, secondsOf(event.text('created_at')))
    if (event.value.status !== 'succeeded') return started
    const text = this.#hasSpoken ? '' : textOfOutput(event.any('output'))
    if (text === null) throw new FormatError('output', 'must be text, or a list of texts')
    return [
      ...started,
      ...this.#say(text),
      ...this.#close(),
      { kind: 'stop', choice: 0, stop: stops[0]!, stopSequence: null },
      ...(usage === null ? NONE : [{ kind: 'usage', usage, serviceTier: null } as const]),
      { kind: 'done' }
    ]
  }

  #start(id: string, model = '', created = 0): readonly ChatEvent[] {
    if (this.#hasStarted) return NONE
    this.#hasStarted = true
    return [{ kind: 'start', id, model, created, usage: null }]
  }

  #say(text: string): readonly ChatEvent[] {
    if (text === '') return NONE
    const started = this.#start('')
    const begun: readonly ChatEvent[] = this.#hasSpoken ? NONE : [{ kind: 'begin', choice: 0, part: emptyPart('text') }]
    this.#hasSpoken = true
    return [...started, ...begun, { kind: 'delta', choice: 0, text, logprobs: null }]
  }

  #close(): readonly ChatEvent[] {
    return this.#hasSpoken ? [{ kind: 'end', choice: 0 }] : NONE
  }
}
