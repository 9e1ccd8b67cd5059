/** A chart over time; the code that draws comes with the first one, and its place is kept until then. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type uPlot from 'uplot'

export interface Series {
  readonly name: string
  /** One for each time; null: none is known. */
  readonly values: readonly (number | null)[]
}

export interface ChartProps {
  /** What it shows, for screen readers: "Cost by team". */
  readonly title: string
  /** Seconds since 1970, rising. */
  readonly times: readonly number[]
  readonly series: readonly Series[]
  /** stack: bars on top of each other. */
  readonly kind: 'line' | 'stack'
  readonly format: (value: number) => string
  /** Pixels. */
  readonly height?: number
}

const COLOURS = 6
/** Steps of the axis of time, in seconds: half of one would show each label twice. */
const TIME_STEPS = [1, 5, 10, 15, 30, 60, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400].concat(
  [2, 3, 7, 14, 30, 90, 180, 365].map((days) => days * 86_400)
)

export function Chart({ title, times, series, kind, format, height = 200 }: ChartProps) {
  const host = useRef<HTMLDivElement>(null)
  const [at, setAt] = useState<number | null>(null)
  const look = useLook()
  const plot = useRef<uPlot | null>(null)
  const data = useMemo(() => dataOf(times, series, kind), [times, series, kind])
  const newest = useRef(data)
  newest.current = data
  const names = series.map(({ name }) => name).join('\n')
  // Drawn anew when it looks otherwise; new values alone go into the chart that is there.
  useEffect(() => {
    let isGone = false
    const observer = new ResizeObserver(([entry]) => {
      if (entry !== undefined) plot.current?.setSize({ width: Math.floor(entry.contentRect.width), height })
    })
    void import('uplot').then(({ default: UPlot }) => {
      const element = host.current
      if (isGone || element === null) return
      const options = optionsOf(UPlot, { series, kind, format, height }, element.clientWidth, setAt)
      plot.current = new UPlot(options, newest.current, element)
      observer.observe(element)
    })
    return () => {
      isGone = true
      observer.disconnect()
      plot.current?.destroy()
      plot.current = null
    }
  }, [names, kind, format, height, look])
  useEffect(() => plot.current?.setData(data), [data])
  const last = times.length - 1
  const shown = at ?? last
  return (
    <figure class="chart">
      <div
        ref={host}
        role="img"
        aria-label={`${title}, ${summary(times, series, format)}`}
        style={{ height: `${height}px` }}
      />
      <figcaption>
        <time>{times[shown] === undefined ? '' : moment(times[shown])}</time>
        {series.map(({ name, values }, i) => (
          <span key={name} class="legend">
            <i class={`swatch s${(i % COLOURS) + 1}`} />
            {name} <b>{values[shown] == null ? 'none' : format(values[shown])}</b>
          </span>
        ))}
      </figcaption>
    </figure>
  )
}

const moment = (seconds: number): string =>
  `${new Date(seconds * 1000).toISOString().slice(0, 19).replace('T', ' ')} UTC`

/** Hours of the day; days where a day begins, or where ticks are a day apart. Seconds, all of them. */
function ticks(times: readonly number[], step: number): string[] {
  return times.map((seconds) => {
    const text = new Date(seconds * 1000).toISOString()
    if (step >= 86_400 || text.slice(11, 19) === '00:00:00') return text.slice(5, 10)
    return step < 60 ? text.slice(11, 19) : text.slice(11, 16)
  })
}

function summary(times: readonly number[], series: readonly Series[], format: (value: number) => string): string {
  if (times.length === 0) return 'empty'
  const lasts = series.map(({ name, values }) => `${name}: ${values.at(-1) == null ? 'none' : format(values.at(-1)!)}`)
  return `from ${moment(times[0]!)} to ${moment(times.at(-1)!)}; at the end ${lasts.join(', ')}`
}

function dataOf(times: ChartProps['times'], series: ChartProps['series'], kind: ChartProps['kind']): uPlot.AlignedData {
  const rows = kind === 'stack' ? stacked(series).reverse() : series.map(({ values }) => values)
  // Its types want arrays that may be written to; it writes to none.
  return [times, ...rows] as unknown as uPlot.AlignedData
}

/** Each series with those before it below: drawn from the last to the first, each covers what is not its own. */
function stacked(series: readonly Series[]): number[][] {
  const sums: number[][] = []
  for (const { values } of series) {
    const below = sums.at(-1)
    sums.push(values.map((value, i) => (value ?? 0) + (below?.[i] ?? 0)))
  }
  return sums
}

type Drawn = Pick<ChartProps, 'series' | 'kind' | 'format'> & { readonly height: number }

function optionsOf(
  UPlot: typeof uPlot,
  { series, kind, format, height }: Drawn,
  width: number,
  onMove: (index: number | null) => void
): uPlot.Options {
  const style = getComputedStyle(document.documentElement)
  const colour = (name: string) => style.getPropertyValue(name).trim()
  const axis = { stroke: colour('--muted'), font: `11px ${style.getPropertyValue('--sans')}` }
  const lines = { stroke: colour('--line'), width: 1 }
  const bars = UPlot.paths.bars!({ size: [0.7, 36] })
  const drawn = series.map(({ name }, i): uPlot.Series => {
    const stroke = colour(`--series-${(i % COLOURS) + 1}`)
    // Nothing was measured in a gap: a single point between two would not be seen.
    const look = kind === 'stack' ? { fill: stroke, paths: bars, width: 0 } : { width: 1.5, spanGaps: true }
    return { label: name, stroke, points: { show: false }, ...look }
  })
  return {
    // At the right is room for half of the longest label, "15:04:05", whose tick may be the last pixel.
    ...{ width, height, legend: { show: false }, padding: [10, 28, 0, 0] },
    // Times are UTC, as they are everywhere else.
    tzDate: (seconds) => UPlot.tzDate(new Date(seconds * 1000), 'UTC'),
    cursor: { y: false, drag: { x: false, y: false }, points: { show: kind === 'line' } },
    scales: { y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.08 : 1] } },
    axes: [
      {
        ...axis,
        incrs: TIME_STEPS,
        grid: { show: false },
        ticks: lines,
        values: (_plot, times, _axis, _space, step) => ticks(times, step)
      },
      {
        ...axis,
        size: 62,
        grid: lines,
        ticks: { show: false },
        values: (_plot, values) => values.map((value) => format(value))
      }
    ],
    series: [{}, ...(kind === 'stack' ? drawn.reverse() : drawn)],
    hooks: { setCursor: [(plot) => onMove(plot.cursor.idx ?? null)] }
  }
}

/** Changes when the theme does: colours are read when a chart is drawn. */
function useLook(): number {
  const [look, setLook] = useState(0)
  useEffect(() => {
    const renew = () => setLook((before) => before + 1)
    const media = matchMedia('(prefers-color-scheme: dark)')
    const observer = new MutationObserver(renew)
    observer.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] })
    media.addEventListener('change', renew)
    return () => {
      observer.disconnect()
      media.removeEventListener('change', renew)
    }
  }, [])
  return look
}
