/** Traffic, errors, latency, tokens and money, as they are counted while the page is open. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { type ApiFailure, textOf } from '#engine/ui/api/client.ts'
import { isPaused } from '#engine/ui/api/poll.ts'
import { count, duration, money, percent } from '#engine/ui/format/numbers.ts'
import { Chart } from '#engine/ui/parts/chart.tsx'
import { Figure, Panel } from '#engine/ui/parts/panel.tsx'
import { Empty, Failure } from '#engine/ui/parts/state.tsx'
import { Table } from '#engine/ui/parts/table.tsx'
import { type Metrics, type Point, parseMetrics, pointOf, reasonsOf } from './metrics.ts'

const EVERY_MS = 2000
/** Fifteen minutes. */
const POINTS_MAX = 450

interface Looked {
  readonly metrics: Metrics
  readonly atMs: number
}

/** Points of this page; they go with it. */
function useLive() {
  const [points, setPoints] = useState<readonly Point[]>([])
  const [metrics, setMetrics] = useState<Metrics | null>(null)
  const [failure, setFailure] = useState<ApiFailure | null>(null)
  const last = useRef<Looked | null>(null)
  useEffect(() => {
    const left = new AbortController()
    const look = async () => {
      if (document.hidden || isPaused.peek()) return
      try {
        const now = { metrics: parseMetrics(await textOf('getMetrics', {}, left.signal)), atMs: Date.now() }
        const before = last.current
        last.current = now
        setMetrics(now.metrics)
        setFailure(null)
        if (before === null || now.atMs <= before.atMs) return
        const point = pointOf(before.metrics, now.metrics, now.atMs / 1000, (now.atMs - before.atMs) / 1000)
        setPoints((all) => [...all.slice(1 - POINTS_MAX), point])
      } catch (problem) {
        if (!left.signal.aborted) setFailure(problem as ApiFailure)
      }
    }
    const timer = setInterval(() => void look(), EVERY_MS)
    void look()
    return () => {
      clearInterval(timer)
      left.abort()
    }
  }, [])
  return { points, metrics, failure }
}

export function Live() {
  const { points, metrics, failure } = useLive()
  const charts = useMemo(() => chartsOf(points), [points])
  const reasons = metrics === null ? [] : reasonsOf(metrics)
  return (
    <>
      {failure !== null && <Failure message={failure.message} />}
      <Now of={points.at(-1) ?? null} />
      <div class="grid">
        {charts.map(({ title, note, ...chart }) => (
          <Panel key={title} title={title} actions={<span class="muted">{note}</span>}>
            <Chart title={title} {...chart} kind="line" height={150} />
          </Panel>
        ))}
      </div>
      <Panel title="Answers of the gateway itself, by reason" actions={<span class="muted">since it began</span>}>
        {reasons.length === 0 ? (
          <Empty>None: every answer came from a backend.</Empty>
        ) : (
          <Table
            caption="Answers of the gateway itself"
            rows={reasons}
            keyOf={({ reason, status }) => `${reason} ${status}`}
            columns={[
              { title: 'Reason', cell: ({ reason }) => <code>{reason}</code> },
              { title: 'Status', cell: ({ status }) => status },
              { title: 'Requests', cell: ({ count: many }) => count(many), isNumber: true }
            ]}
          />
        )}
      </Panel>
    </>
  )
}

function Now({ of }: { readonly of: Point | null }) {
  const shown = (value: (point: Point) => string) => (of === null ? '…' : value(of))
  return (
    <dl class="figures">
      <Figure
        name="Requests"
        value={shown(({ requests }) => `${count(requests)}/s`)}
        note={shown(({ connections }) => `${count(connections)} connections`)}
      />
      <Figure
        name="Failed"
        value={shown(({ failed, requests }) => percent(requests === 0 ? 0 : failed / requests))}
        note={shown(({ refused }) => `${count(refused)}/s refused (4xx)`)}
      />
      <Figure
        name="Latency"
        value={shown(({ p50 }) => milliseconds(p50))}
        note={shown(({ p99 }) => `p99 ${milliseconds(p99)}`)}
      />
      <Figure
        name="Tokens"
        value={shown(({ inputTokens, outputTokens }) => `${count(inputTokens + outputTokens)}/s`)}
        note={shown(({ cost }) => `${money(cost.toFixed(6))} an hour`)}
      />
      <Figure
        name="CPU"
        value={shown(({ cpu }) => percent(cpu))}
        note={shown(({ memory }) => `of a core; ${count(memory)}B memory`)}
      />
    </dl>
  )
}

const milliseconds = (ms: number | null): string => (ms === null ? 'none' : duration(ms))

function chartsOf(points: readonly Point[]) {
  const times = points.map(({ at }) => at)
  const series = (name: string, value: (point: Point) => number | null) => ({ name, values: points.map(value) })
  return [
    {
      ...{ title: 'Requests', note: 'in a second', times, format: count },
      series: [
        series('all', ({ requests }) => requests),
        series('refused', ({ refused }) => refused),
        series('failed', ({ failed }) => failed)
      ]
    },
    {
      ...{ title: 'Latency', note: 'of requests, to the last byte', times, format: duration },
      series: [series('p50', ({ p50 }) => p50), series('p99', ({ p99 }) => p99)]
    },
    {
      ...{ title: 'Tokens', note: 'in a second', times, format: count },
      series: [series('input', ({ inputTokens }) => inputTokens), series('output', ({ outputTokens }) => outputTokens)]
    },
    {
      ...{ title: 'Connections of clients', note: 'open', times, format: count },
      series: [series('open', ({ connections }) => connections)]
    }
  ]
}
