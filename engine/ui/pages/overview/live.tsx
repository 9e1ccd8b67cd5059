/** Traffic, errors, latency, tokens and money, from the figures that the gateway keeps. */
import { useMemo } from 'preact/hooks'
import type { Answer } from '#engine/ui/api/client.ts'
import { usePoll } from '#engine/ui/api/poll.ts'
import { place, setQuery } from '#engine/ui/app/router.ts'
import { count, duration, money, percent } from '#engine/ui/format/numbers.ts'
import { Chart } from '#engine/ui/parts/chart.tsx'
import { Choice } from '#engine/ui/parts/form.tsx'
import { Figure, Panel } from '#engine/ui/parts/panel.tsx'
import { Answered, Empty } from '#engine/ui/parts/state.tsx'
import { Table } from '#engine/ui/parts/table.tsx'
import { level, levelNow, NAMES, RANGES, rangeOf, rate, rateNow, reasonsOf, timesOf } from './figures.ts'

type Past = Answer<'getSeries'>

export function Live() {
  const range = rangeOf(place.value.query.get('range'))
  const past = usePoll('getSeries', { query: { names: NAMES, range: String(range.seconds) } }, range.everyMs)
  return (
    <>
      <div class="toolbar">
        <Choice
          label="Time"
          value={range.name}
          onChange={(name) => setQuery({ range: name })}
          options={RANGES.map(({ name, title }) => [name, title])}
        />
      </div>
      <Answered of={past} what="Figures">
        {(data) => <Figures of={data} title={range.title} />}
      </Answered>
    </>
  )
}

function Figures({ of, title }: { readonly of: Past; readonly title: string }) {
  const charts = useMemo(() => chartsOf(of), [of])
  const reasons = reasonsOf(of)
  return (
    <>
      <Now of={of} />
      <div class="grid">
        {charts.map(({ title: name, note, ...chart }) => (
          <Panel key={name} title={name} actions={<span class="muted">{note}</span>}>
            <Chart title={name} {...chart} kind="line" height={150} />
          </Panel>
        ))}
      </div>
      <Panel title="Refused and failed, by reason" actions={<span class="muted">{title}</span>}>
        {reasons.length === 0 ? (
          <Empty>None in this time.</Empty>
        ) : (
          <Table
            caption="Reasons"
            rows={reasons}
            keyOf={({ code }) => code}
            columns={[
              { title: 'Reason', cell: ({ code }) => <code>{code}</code> },
              { title: 'Requests', cell: ({ count: many }) => count(many), isNumber: true }
            ]}
          />
        )}
      </Panel>
    </>
  )
}

/** Of the last ten seconds. */
function Now({ of }: { readonly of: Past }) {
  const requests = rateNow(of, 'requests')
  const failed = rateNow(of, 'responses.5xx')
  const tokens = rateNow(of, 'tokens.input') + rateNow(of, 'tokens.output')
  const first = levelNow(of, 'firstToken.p50')
  return (
    <dl class="figures">
      <Figure
        name="Requests"
        value={`${count(requests)}/s`}
        note={`${count(levelNow(of, 'connections') ?? 0)} connections`}
      />
      <Figure
        name="Failed"
        value={percent(requests === 0 ? 0 : failed / requests)}
        note={`${count(rateNow(of, 'responses.4xx'))}/s refused (4xx)`}
      />
      <Figure
        name="Latency"
        value={seconds(levelNow(of, 'latency.p50'))}
        note={`p99 ${seconds(levelNow(of, 'latency.p99'))}`}
      />
      <Figure
        name="Tokens"
        value={`${count(tokens)}/s`}
        note={first === null ? 'no stream now' : `first one after ${seconds(first)}`}
      />
      <Figure name="Models cost" value={money((rateNow(of, 'cost') * 3600).toFixed(4))} note="an hour, as it is now" />
    </dl>
  )
}

const seconds = (value: number | null): string => (value === null ? 'none' : duration(value * 1000))

function chartsOf(past: Past) {
  const times = timesOf(past)
  return [
    {
      ...{ title: 'Requests', note: 'in a second', times, format: count },
      series: [rate(past, 'requests', 'all'), rate(past, 'responses.4xx', '4xx'), rate(past, 'responses.5xx', '5xx')]
    },
    {
      ...{ title: 'Latency', note: 'to the last byte', times, format: duration },
      series: [level(past, 'latency.p50', 'p50', 1000), level(past, 'latency.p99', 'p99', 1000)]
    },
    {
      ...{ title: 'Tokens', note: 'in a second', times, format: count },
      series: [rate(past, 'tokens.input', 'input'), rate(past, 'tokens.output', 'output')]
    },
    {
      ...{ title: 'Connections of clients', note: 'open', times, format: count },
      series: [level(past, 'connections', 'open')]
    }
  ]
}
