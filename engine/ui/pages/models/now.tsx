/** How models fare now: calls of the last minutes, what failed, and how long people waited for the first token. */
import type { Answer } from '#engine/ui/api/client.ts'
import { usePoll } from '#engine/ui/api/poll.ts'
import { count, duration, percent } from '#engine/ui/format/numbers.ts'
import { Badge } from '#engine/ui/parts/badge.tsx'
import { Panel } from '#engine/ui/parts/panel.tsx'
import { Answered, Empty } from '#engine/ui/parts/state.tsx'
import { Table } from '#engine/ui/parts/table.tsx'

const EVERY_MS = 5000

type Row = Answer<'getModels'>['models'][number]

export function Now() {
  const models = usePoll('getModels', {}, EVERY_MS)
  const seconds = models.data?.seconds ?? 0
  return (
    <Panel
      title="How they fare"
      actions={models.data !== null && <span class="muted">last {duration(seconds * 1000)}</span>}
    >
      <Answered of={models} what="Calls">
        {({ models: rows, leftOut }) => (
          <>
            {rows.length === 0 ? <Empty>None was called in this time.</Empty> : <Rows of={rows} />}
            {leftOut > 0 && <p class="body muted">{leftOut} more models are not counted here: there are too many.</p>}
          </>
        )}
      </Answered>
    </Panel>
  )
}

function Rows({ of }: { readonly of: readonly Row[] }) {
  return (
    <Table
      caption="Calls of models, now"
      rows={of}
      keyOf={({ provider, model }) => `${provider} ${model}`}
      columns={[
        { title: 'Model', cell: ({ model }) => model },
        { title: 'Provider', cell: ({ provider }) => provider },
        { title: 'Calls', cell: ({ calls }) => count(calls), isNumber: true },
        { title: 'Failed', cell: ({ calls, failed }) => percent(failed / calls), isNumber: true },
        {
          title: 'Why',
          cell: ({ errors }) =>
            errors.map(({ type, calls }) => (
              <Badge key={type} tone="bad">
                {type}: {count(calls)}
              </Badge>
            ))
        },
        { title: 'First token, p50', cell: ({ firstTokenMs }) => timeOf(firstTokenMs?.p50), isNumber: true },
        { title: 'p99', cell: ({ firstTokenMs }) => timeOf(firstTokenMs?.p99), isNumber: true },
        { title: 'Each further, p50', cell: ({ perTokenMs }) => timeOf(perTokenMs?.p50), isNumber: true }
      ]}
    />
  )
}

const timeOf = (ms: number | undefined) => (ms === undefined ? <span class="muted">no stream</span> : duration(ms))
