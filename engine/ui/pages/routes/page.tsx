/** Routes: what a request goes through, and which of them a certain one would. */
import { useMemo, useState } from 'preact/hooks'
import type { Explanation } from '#engine/explain/explanation.ts'
import { usePoll } from '#engine/ui/api/poll.ts'
import { place, setQuery } from '#engine/ui/app/router.ts'
import { Answered, Empty } from '#engine/ui/parts/state.tsx'
import { listenersOf, searched } from './graph.ts'
import { Listener } from './listener.tsx'
import { Question } from './question.tsx'
import { Verdict } from './verdict.tsx'

const EVERY_MS = 5000
/** More than a page is good for: the search finds the others. */
const ROUTES_MAX = 300

export default function Routes() {
  const configuration = usePoll('getConfiguration', {}, EVERY_MS)
  const backends = usePoll('listBackends', {}, EVERY_MS)
  const { data: traffic } = usePoll('getTraffic', {}, EVERY_MS)
  const [explanation, setExplanation] = useState<Explanation | null>(null)
  const { data } = configuration
  // Every answer is a new object; what it says changes with its version.
  const listeners = useMemo(() => (data === null ? [] : listenersOf(data)), [data?.version, data?.hash])
  const search = place.value.query.get('q') ?? ''
  const shown = searched(listeners, search)
  const count = shown.reduce((sum, { routes }) => sum + routes.length, 0)
  const first = listeners[0]
  return (
    <>
      <Question
        example={
          first === undefined ? '' : `http://${first.hostname === '*' ? 'localhost' : first.hostname}:${first.port}/`
        }
        onExplained={setExplanation}
      />
      {explanation !== null && <Verdict of={explanation} />}
      <div class="toolbar">
        <input
          data-search
          type="search"
          aria-label="Search routes"
          placeholder="Search routes"
          value={search}
          onInput={({ currentTarget }) => setQuery({ q: currentTarget.value })}
        />
        <span class="muted">
          {count} {count === 1 ? 'route' : 'routes'}
        </span>
      </div>
      <Answered of={configuration} what="Routes">
        {() => (shown.length === 0 ? <Empty>No route has this text.</Empty> : null)}
      </Answered>
      {cut(shown, ROUTES_MAX).map((listener) => (
        <Listener
          key={`${listener.port} ${listener.name}`}
          listener={listener}
          explanation={explanation}
          backends={backends.data?.backends ?? []}
          traffic={traffic}
        />
      ))}
      {count > ROUTES_MAX && <p class="muted">{count - ROUTES_MAX} more: search for them.</p>}
      {traffic !== null && traffic.leftOut > 0 && (
        <p class="muted">What {traffic.leftOut} more routes got is not counted here: there are too many.</p>
      )}
    </>
  )
}

function cut(listeners: ReturnType<typeof listenersOf>, max: number) {
  let left = max
  return listeners.flatMap((listener) => {
    if (left <= 0) return []
    const routes = listener.routes.slice(0, left)
    left -= Math.max(1, routes.length)
    return [{ ...listener, routes }]
  })
}
