/** Calls one by one, the newest first, a page at a time. */
import { useState } from 'preact/hooks'
import type { Answer } from '#engine/ui/api/client.ts'
import { usePoll } from '#engine/ui/api/poll.ts'
import { count, duration, money } from '#engine/ui/format/numbers.ts'
import { Badge } from '#engine/ui/parts/badge.tsx'
import { Panel } from '#engine/ui/parts/panel.tsx'
import { Answered, Empty } from '#engine/ui/parts/state.tsx'
import { Table } from '#engine/ui/parts/table.tsx'
import { numberOf } from './sums.ts'

type Call = Answer<'listSpend'>['records'][number]

const PAGE = '25'

export interface RecordsProps {
  readonly filters: Readonly<Record<string, string>>
  readonly from: string
}

export function Records({ filters, from }: RecordsProps) {
  // Cursors of the pages before this one, and of this one.
  const [cursors, setCursors] = useState<readonly string[]>([])
  const cursor = cursors.at(-1)
  const page = usePoll('listSpend', {
    query: { limit: PAGE, from, ...filters, ...(cursor === undefined ? {} : { cursor }) }
  })
  const next = page.data?.next ?? null
  return (
    <Panel
      title="Calls"
      actions={
        <>
          <button type="button" onClick={page.refresh}>
            Again
          </button>
          <button type="button" disabled={cursors.length === 0} onClick={() => setCursors(cursors.slice(0, -1))}>
            Newer
          </button>
          <button
            type="button"
            disabled={next === null}
            onClick={() => next !== null && setCursors([...cursors, next])}
          >
            Older
          </button>
        </>
      }
    >
      <Answered of={page} what="Calls">
        {(data) => (data.records.length === 0 ? <Empty>There are none here.</Empty> : <Rows calls={data.records} />)}
      </Answered>
    </Panel>
  )
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '')

function Rows({ calls }: { readonly calls: readonly Call[] }) {
  return (
    <Table
      caption="Calls of models"
      rows={calls}
      keyOf={({ id, time, purpose }) => `${id} ${time} ${text(purpose)}`}
      columns={[
        { title: 'Time', cell: ({ time }) => <time dateTime={time}>{time.slice(0, 19).replace('T', ' ')}</time> },
        { title: 'Key', cell: ({ keyName, key }) => text(keyName) || text(key) },
        { title: 'Model', cell: ({ model, requestModel }) => text(model) || text(requestModel) },
        { title: 'Provider', cell: ({ provider }) => text(provider) },
        { title: 'Answer', cell: (call) => <Status of={call} /> },
        { title: 'Input', cell: ({ uncachedInputTokens }) => count(numberOf(uncachedInputTokens)), isNumber: true },
        { title: 'Output', cell: ({ outputTokens }) => count(numberOf(outputTokens)), isNumber: true },
        { title: 'Took', cell: ({ durationMs }) => duration(numberOf(durationMs)), isNumber: true },
        {
          title: 'Cost',
          cell: ({ cost, currency }) => (typeof cost === 'string' ? money(cost, text(currency) || 'USD') : 'not known'),
          isNumber: true
        }
      ]}
    />
  )
}

function Status({ of: { status, errorType, detail } }: { readonly of: Call }) {
  const why = [text(errorType), text(detail)].filter((word) => word !== '').join(': ')
  return (
    <>
      <Badge tone={status < 400 ? 'ok' : status < 500 ? 'warn' : 'bad'}>{status}</Badge> {why}
    </>
  )
}
