/** An answer as it grows: what the lines of POST /api/v1/send say, read in a format. */
import type { SentLine } from '#engine/admin/api/send.ts'
import { eventsIn } from '#engine/ui/api/lines.ts'
import type { Format } from './formats.ts'

export interface Answer {
  /** Null: there is none yet. */
  readonly status: number | null
  readonly text: string
  readonly calls: string
  readonly input: number | null
  readonly output: number | null
  /** Milliseconds until the first text, and until the end. */
  readonly firstMs: number | null
  readonly wholeMs: number | null
  /** As the gateway has told it, in money; null: it has not. */
  readonly cost: string | null
  /** Headers of the gateway's own. */
  readonly notes: readonly string[]
  /** Why there is no answer. */
  readonly failure: string | null
  /** What has come and was not read yet. */
  readonly rest: string
  readonly isStream: boolean
}

export const NONE: Answer = {
  ...{ status: null, text: '', calls: '', input: null, output: null, firstMs: null, wholeMs: null, cost: null },
  ...{ notes: [], failure: null, rest: '', isStream: false }
}

const DONE = '[DONE]'

export function grown(answer: Answer, line: SentLine, format: Format): Answer {
  if (line.kind === 'failed') return { ...answer, failure: line.message, wholeMs: line.ms }
  if (line.kind === 'head') return headed(answer, line)
  if (line.kind === 'end') return { ...ended(answer, format, line.ms), wholeMs: line.ms }
  if (line.kind !== 'piece') return answer
  const come = answer.rest + line.text
  if (!answer.isStream) return { ...answer, rest: come }
  const { events, rest } = eventsIn(come)
  return events.reduce<Answer>((so, event) => withEvent(so, event, format, line.ms), { ...answer, rest })
}

function headed(answer: Answer, { status, headers }: SentLine & { readonly kind: 'head' }): Answer {
  const of = (name: string) => headers.find(([own]) => own.toLowerCase() === name)?.[1] ?? null
  const notes = headers.flatMap(([name, value]) => (/^x-(?:weir|ratelimit)-/i.test(name) ? [`${name}: ${value}`] : []))
  return {
    ...answer,
    status,
    notes,
    cost: of('x-weir-cost'),
    isStream: of('content-type')?.includes('event-stream') === true
  }
}

function ended(answer: Answer, format: Format, ms: number): Answer {
  if (answer.isStream || answer.rest === '') return answer
  if ((answer.status ?? 0) < 400) return { ...withEvent(answer, answer.rest, format, ms), rest: '' }
  return { ...answer, failure: reasonIn(answer.rest), rest: '' }
}

function withEvent(answer: Answer, event: string, format: Format, ms: number): Answer {
  if (event === DONE) return answer
  const value = parsed(event)
  if (value === null) return { ...answer, failure: event.slice(0, 500) }
  const { text = '', call = '', input, output } = format.read(value)
  const error = (value as { readonly error?: unknown }).error
  return {
    ...answer,
    text: answer.text + text,
    calls: answer.calls + call,
    input: input ?? answer.input,
    output: output ?? answer.output,
    firstMs: answer.firstMs ?? (text === '' && call === '' ? null : ms),
    // A stream that fails says so in an event.
    failure: error == null ? answer.failure : reasonIn(event)
  }
}

function parsed(text: string): Parameters<Format['read']>[0] | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' ? (value as Parameters<Format['read']>[0]) : null
  } catch {
    return null
  }
}

/** The message of an error, in whatever format it is written. */
export function reasonIn(body: string): string {
  const value = parsed(body) as { readonly error?: { readonly message?: unknown }; readonly message?: unknown } | null
  const message = value?.error?.message ?? value?.message
  return typeof message === 'string' ? message : body.trim().slice(0, 500)
}
