/** Figures over time, as the main thread keeps them: up to a day, without any other program. */

import { jsonReply, type Reply } from '#engine/admin/server.ts'
import { z } from '#engine/schema/schema.ts'
import { type Past, RESOLUTIONS, type Step } from '#engine/telemetry/figures/ring.ts'
import { type Call, type Operation, refusal } from './operation.ts'

export interface AdminFigures {
  readonly names: readonly string[]
  past(names: readonly string[], seconds: number, step: Step): Past
}

const DEFAULT_SECONDS = RESOLUTIONS[0].step * RESOLUTIONS[0].kept
const SECONDS_MAX = RESOLUTIONS[2].step * RESOLUTIONS[2].kept
/** In one answer: a day of 64 figures by the minute. */
const POINTS_MAX = 92_160
const STEPS = RESOLUTIONS.map(({ step }) => String(step))

const answer = () =>
  z.strictObject({
    step: z.int().describe('Seconds of each step.'),
    from: z.iso.datetime().describe('The end of the first step.'),
    names: z.array(z.string()).describe('All figures that there are now.'),
    series: z.record(
      z.string(),
      z.array(z.number().nullable()).describe('One for each step; null: not known, or there was nothing to measure.')
    )
  })

/** `figures`: absent where none are kept. */
export function seriesOperation(figures: AdminFigures | undefined): Operation {
  return {
    ...{ id: 'getSeries', method: 'GET', path: '/series', tag: 'Gateway', role: 'see' },
    summary: 'Figures over time: up to 15 minutes by the second, three hours by ten seconds, a day by the minute.',
    query: {
      names: {
        about:
          'Names with commas between; a star at the end stands for the rest: requests,errors.*,latency.p99. Default: none.',
        schema: z.string()
      },
      range: { about: `Seconds until now. Default ${DEFAULT_SECONDS}.`, schema: z.int().min(1).max(SECONDS_MAX) },
      step: { about: 'Seconds of a step. Default: the finest that has the range.', schema: z.enum(STEPS) }
    },
    replies: { 200: { about: 'Counts are those of each step; all else is as it was at its end.', schema: answer() } },
    refusals: { 404: 'None are kept here.' },
    answer: (call) => series(figures, call)
  }
}

function series(figures: AdminFigures | undefined, { request: { query } }: Call): Reply {
  if (figures === undefined) return refusal(404, 'NOT_FOUND', 'no figures are kept here')
  const seconds = Number(query.get('range') ?? DEFAULT_SECONDS)
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > SECONDS_MAX)
    return refusal(400, 'INVALID', `must be whole seconds from 1 to ${SECONDS_MAX}, a day`, 'range')
  const stepText = query.get('step')
  const wanted = RESOLUTIONS.find((one) => (stepText === null ? covers(one, seconds) : String(one.step) === stepText))
  if (wanted === undefined) return refusal(400, 'INVALID', `must be one of ${STEPS.join(', ')}`, 'step')
  if (!covers(wanted, seconds)) {
    const most = wanted.step * wanted.kept
    return refusal(400, 'INVALID', `steps of ${wanted.step} s are kept for ${most} s: use a longer step`, 'step')
  }
  const names = chosen(query.get('names') ?? '', figures.names)
  const most = Math.floor(POINTS_MAX / Math.ceil(seconds / wanted.step))
  if (names.length > most)
    return refusal(400, 'INVALID', `${names.length} figures are too many for this range, ${most} may be`, 'names')
  const past = figures.past(names, seconds, wanted.step)
  return jsonReply(200, {
    step: past.step,
    from: new Date(past.firstAt).toISOString(),
    names: figures.names.toSorted(),
    series: Object.fromEntries([...past.series].map(([name, values]) => [name, values.map(shown)]))
  })
}

const covers = ({ step, kept }: { readonly step: number; readonly kept: number }, seconds: number) =>
  step * kept >= seconds

/** Those that there are; a name that nothing has counted so far is no mistake. */
function chosen(text: string, known: readonly string[]): string[] {
  const wanted = text.split(',')
  const isWanted = (name: string) =>
    wanted.some((one) => (one.endsWith('*') ? name.startsWith(one.slice(0, -1)) : name === one))
  return known.filter(isWanted).toSorted()
}

/** Kept with 24 bits, which are seven digits. */
const shown = (value: number) => (Number.isNaN(value) ? null : Number(value.toPrecision(7)))
