/** What models cost: over time, by whom, and call by call. */
import { useMemo } from 'preact/hooks'
import { urlOf } from '#engine/ui/api/client.ts'
import { type Polled, usePoll } from '#engine/ui/api/poll.ts'
import { place, setQuery } from '#engine/ui/app/router.ts'
import { count, money, percent } from '#engine/ui/format/numbers.ts'
import { Chart } from '#engine/ui/parts/chart.tsx'
import { Choice } from '#engine/ui/parts/form.tsx'
import { Figure, Panel } from '#engine/ui/parts/panel.tsx'
import { Answered, Empty } from '#engine/ui/parts/state.tsx'
import { Table } from '#engine/ui/parts/table.tsx'
import { Records } from './records.tsx'
import {
  charted,
  GROUPS,
  type Group,
  groupOf,
  inputOf,
  nameOf,
  numberOf,
  RANGES,
  type Range,
  rangeOf,
  type Sum,
  startOf,
  totalOf
} from './sums.ts'

const EVERY_MS = 10_000
/** The most that the API gives: groups and steps of one answer. */
const LIMIT = '10000'

/** What the address says: /ui/spend?by=team&range=7d&key=alice. */
function useQuery() {
  const { query } = place.value
  const range = rangeOf(query.get('range'))
  const by = groupOf(query.get('by'))
  const filters = Object.fromEntries(GROUPS.flatMap((group) => (query.has(group) ? [[group, query.get(group)!]] : [])))
  // Of the hour: else every drawing would be another question.
  const from = startOf(range, Date.now())
  return { range, by, filters, from }
}

export default function Spend() {
  const { range, by, filters, from } = useQuery()
  const groups = usePoll('sumSpend', { query: { groupBy: by, from, ...filters } }, EVERY_MS)
  const steps = usePoll(
    'sumSpend',
    { query: { groupBy: `${by},${range.step}`, from, limit: LIMIT, ...filters } },
    EVERY_MS
  )
  const csv = urlOf('sumSpend', {
    query: { groupBy: `${by},${range.step}`, from, limit: LIMIT, format: 'csv', ...filters }
  })
  return (
    <>
      <div class="toolbar">
        <Choice
          label="Time"
          value={range.name}
          onChange={(name) => setQuery({ range: name })}
          options={RANGES.map(({ name, title }) => [name, title])}
        />
        <Choice
          label="By"
          value={by}
          onChange={(name) => setQuery({ by: name })}
          options={GROUPS.map((group) => [group, group])}
        />
        <Filters of={filters} />
        <a class="button" href={csv} download={`spend-by-${by}.csv`}>
          CSV
        </a>
      </div>
      <Answered of={groups} what="Spend">
        {(data) => <Totals sums={data.sums} />}
      </Answered>
      <Panel title={`Cost by ${by}, each ${range.step}`}>
        <Over of={steps} by={by} range={range} />
      </Panel>
      <Panel title={`By ${by}`}>
        <Answered of={groups} what="Sums">
          {(data) =>
            data.sums.length === 0 ? (
              <Empty>No model was called in this time.</Empty>
            ) : (
              <Groups sums={data.sums} by={by} />
            )
          }
        </Answered>
      </Panel>
      <Records filters={filters} from={from} />
    </>
  )
}

function Filters({ of }: { readonly of: Readonly<Record<string, string>> }) {
  return (
    <>
      {Object.entries(of).map(([group, value]) => (
        <button type="button" key={group} onClick={() => setQuery({ [group]: null }, true)}>
          {group}: {value} <span aria-hidden="true">×</span>
          <span class="sr">, take this filter away</span>
        </button>
      ))}
    </>
  )
}

function Totals({ sums }: { readonly sums: readonly Sum[] }) {
  const { cost, currency, calls, errors, refusals, unknown, input, output } = totalOf(sums)
  return (
    <dl class="figures">
      <Figure
        name="Cost"
        value={money(cost, currency)}
        note={unknown === 0 ? 'of all calls' : `and ${count(unknown)} calls without a known cost`}
      />
      <Figure name="Calls" value={count(calls)} note={`${count(errors)} failed, ${count(refusals)} refused`} />
      <Figure name="Input" value={count(input)} note="tokens" />
      <Figure name="Output" value={count(output)} note="tokens" />
    </dl>
  )
}

interface OverProps {
  readonly of: Polled<{ readonly sums: readonly Sum[] } & object>
  readonly by: Group
  readonly range: Range
}

function Over({ of, by, range }: OverProps) {
  const sums = of.data?.sums
  const chart = useMemo(() => (sums === undefined ? null : charted(sums, by, range, Date.now())), [sums, by, range])
  return (
    <Answered of={of} what="Cost over time">
      {() => chart !== null && <Chart title={`Cost by ${by}`} {...chart} kind="stack" format={money} />}
    </Answered>
  )
}

function Groups({ sums, by }: { readonly sums: readonly Sum[]; readonly by: Group }) {
  const { cost: whole } = totalOf(sums)
  return (
    <Table
      caption={`Spend by ${by}`}
      rows={sums}
      keyOf={(sum) => `${nameOf(sum, by)} ${sum.currency}`}
      columns={[
        {
          title: by[0]!.toUpperCase() + by.slice(1),
          cell: (sum) => (
            <button type="button" class="link" onClick={() => setQuery({ [by]: String(sum[by] ?? '') }, true)}>
              {nameOf(sum, by)}
            </button>
          )
        },
        { title: 'Cost', cell: ({ cost, currency }) => money(cost, currency), isNumber: true },
        { title: 'Share', cell: ({ cost }) => (whole === 0 ? '' : percent(Number(cost) / whole)), isNumber: true },
        { title: 'Calls', cell: ({ calls }) => count(calls), isNumber: true },
        { title: 'Failed', cell: ({ errors }) => count(numberOf(errors)), isNumber: true },
        { title: 'Refused', cell: ({ refusals }) => count(numberOf(refusals)), isNumber: true },
        { title: 'Input', cell: (sum) => count(inputOf(sum)), isNumber: true },
        { title: 'Output', cell: ({ outputTokens }) => count(numberOf(outputTokens)), isNumber: true },
        { title: 'From a cache', cell: ({ cacheHits }) => count(numberOf(cacheHits)), isNumber: true }
      ]}
    />
  )
}
