/** A story of a request as the rows of a waterfall. */
import type { Story, StoryStep } from '#engine/story/story.ts'
import { percent } from '#engine/ui/format/numbers.ts'
import type { Tone } from '#engine/ui/parts/badge.tsx'

export interface Row {
  readonly name: string
  readonly what: string
  /** Lines below. */
  readonly more: readonly string[]
  readonly tone: Tone
  /** 0..1 of the whole time. */
  readonly from: number
  /** 0: a moment. */
  readonly share: number
  /** Microseconds; null: it is a moment. */
  readonly took: number | null
}

type Drawn = Omit<Row, 'from' | 'share' | 'took'>

export function rowsOf({ steps, took: whole }: Story): readonly Row[] {
  return steps.map((step, i): Row => {
    const took = tookOf(step, steps.slice(i + 1), whole)
    const scale = Math.max(1, whole)
    const from = Math.min(1, beginOf(step) / scale)
    return { ...drawn(step), from, share: Math.min(1 - from, (took ?? 0) / scale), took }
  })
}

/** Policies are told when they have ended. */
const beginOf = (step: StoryStep): number => (step.step === 'policy' ? Math.max(0, step.at - step.took) : step.at)

/** An attempt goes on until another begins, or to the first byte. */
function tookOf(step: StoryStep, later: readonly StoryStep[], whole: number): number | null {
  if (step.step === 'policy' || step.step === 'call') return step.took
  if (step.step === 'first byte') return Math.max(0, whole - step.at)
  if (step.step !== 'attempt') return null
  const next = later.find((one) => one.step === 'retry' || one.step === 'attempt' || one.step === 'first byte')
  return Math.max(0, (next?.at ?? whole) - step.at)
}

function drawn(step: StoryStep): Drawn {
  switch (step.step) {
    case 'listener':
      return { name: 'listener', what: `${step.name}, port ${step.port}`, more: [], tone: 'plain' }
    case 'route':
      return step.name === null
        ? { name: 'route', what: `none: ${step.code}`, more: [], tone: 'bad' }
        : {
            name: 'route',
            what: `${step.name}${step.match === null ? '' : `, ${step.match}`}`,
            more: [],
            tone: 'plain'
          }
    case 'policy':
      return {
        ...{ name: step.policy, what: `${step.verdict === 'answers' ? 'ends it' : step.verdict} (${step.side})` },
        more: [...(step.detail === null ? step.expressions : [step.detail])],
        tone: step.verdict === 'passes' ? 'ok' : 'bad'
      }
    case 'backend': {
      const shares = step.shares.map(({ backend, percent: share }) => `${backend} ${percent(share / 100)}`)
      return { name: 'backend', what: step.name, more: [[step.why, ...shares].join(', ')], tone: 'plain' }
    }
    case 'call':
      return {
        name: 'asks',
        what: `${step.service}: ${step.result ?? 'no answer yet'}`,
        more: [step.request],
        tone: 'plain'
      }
    case 'attempt': {
      const why = [step.why, step.balancing].filter((word) => word !== null).join(', ')
      return { name: `attempt ${step.number}`, what: step.address ?? step.endpoint, more: [why], tone: 'ok' }
    }
    case 'first byte':
      return { name: 'first byte', what: String(step.status), more: [], tone: step.status < 500 ? 'ok' : 'bad' }
    case 'retry':
      return { name: 'retry', what: step.why, more: [], tone: 'warn' }
  }
}
