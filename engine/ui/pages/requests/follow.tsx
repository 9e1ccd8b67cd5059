/** Follows requests of others: they get a token as a header, and their stories come here. */

import { useEffect, useState } from 'preact/hooks'
import type { Story } from '#engine/story/story.ts'
import { type Answer, type ApiFailure, call } from '#engine/ui/api/client.ts'
import { isPaused } from '#engine/ui/api/poll.ts'
import { place, setQuery } from '#engine/ui/app/router.ts'
import { ago, duration } from '#engine/ui/format/numbers.ts'
import { Act } from '#engine/ui/parts/act.tsx'
import { Badge } from '#engine/ui/parts/badge.tsx'
import { Copy } from '#engine/ui/parts/copy.tsx'
import { Choice } from '#engine/ui/parts/form.tsx'
import { useNow } from '#engine/ui/parts/now.ts'
import { Panel } from '#engine/ui/parts/panel.tsx'
import { Empty, Failure } from '#engine/ui/parts/state.tsx'
import { Table } from '#engine/ui/parts/table.tsx'
import { storiesOf } from './stories.ts'
import { Waterfall } from './waterfall.tsx'

const EVERY_MS = 1000
const USES = [1, 5, 20].map((uses): [string, string] => [String(uses), uses === 1 ? 'one request' : `${uses} requests`])
const LIFETIMES: [string, string][] = [
  ['60', 'a minute'],
  ['300', 'five minutes'],
  ['600', 'ten minutes']
]

/** The id of the trace is in the address, its token is not: who has it can make requests be followed. */
export function Follow() {
  const id = place.value.query.get('trace')
  const [trace, setTrace] = useState<Answer<'armTrace'> | null>(null)
  const [uses, setUses] = useState('5')
  const [lifetime, setLifetime] = useState('300')
  const [failure, setFailure] = useState<ApiFailure | null>(null)
  const arm = async () => {
    try {
      const made = await call('armTrace', { body: { uses: Number(uses), lifetime: Number(lifetime) } })
      setTrace(made)
      setFailure(null)
      setQuery({ trace: made.id, request: null }, true)
    } catch (problem) {
      setFailure(problem as ApiFailure)
    }
  }
  return (
    <Panel title="Follow requests of others">
      <div class="body stack">
        <div class="toolbar">
          <Choice label="How many" value={uses} onChange={setUses} options={USES} />
          <Choice label="For" value={lifetime} onChange={setLifetime} options={LIFETIMES} />
          <Act of="armTrace" onClick={() => void arm()}>
            Get a token
          </Act>
        </div>
        {failure !== null && <Failure message={failure.message} />}
        {trace !== null && (
          <>
            <p>Requests with this header are followed. It costs the others nothing.</p>
            <Copy label="Header of requests that are followed" text={`${trace.header}: ${trace.token}`} />
          </>
        )}
      </div>
      {id !== null && <Stories key={id} id={id} />}
    </Panel>
  )
}

function Stories({ id }: { readonly id: string }) {
  const [stories, setStories] = useState<readonly Story[]>([])
  const [failure, setFailure] = useState<ApiFailure | null>(null)
  const now = useNow()
  useEffect(() => {
    const left = new AbortController()
    const look = () => {
      if (document.hidden || isPaused.peek()) return
      storiesOf(id, left.signal).then(setStories, (problem: ApiFailure) => left.signal.aborted || setFailure(problem))
    }
    const timer = setInterval(look, EVERY_MS)
    look()
    return () => {
      clearInterval(timer)
      left.abort()
    }
  }, [id])
  const chosen = place.value.query.get('request')
  const story = stories.find(({ requestId }) => requestId === chosen)
  return (
    <>
      {failure !== null && <Failure message={failure.message} />}
      {stories.length === 0 && <Empty>None has come yet, or none is over.</Empty>}
      {stories.length > 0 && (
        <Table
          caption="Requests that were followed"
          rows={stories.toReversed()}
          keyOf={({ requestId }) => requestId}
          chosen={chosen}
          columns={[
            {
              title: 'Request',
              cell: ({ request, requestId }) => (
                <button type="button" class="link" onClick={() => setQuery({ request: requestId }, true)}>
                  {request.method} {request.url}
                </button>
              )
            },
            {
              title: 'Answer',
              cell: ({ status, code }) => (
                <>
                  <Badge tone={status < 400 ? 'ok' : status < 500 ? 'warn' : 'bad'}>{status}</Badge> {code}
                </>
              )
            },
            { title: 'Backend', cell: ({ backend }) => backend },
            { title: 'Took', cell: ({ took }) => duration(took / 1000), isNumber: true },
            { title: 'Began', cell: ({ startedAt }) => ago(startedAt, now) }
          ]}
        />
      )}
      {story !== undefined && <Waterfall of={story} />}
    </>
  )
}
