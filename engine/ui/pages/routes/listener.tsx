/** One listener with its routes: each a line from what it matches over its policies to its backends. */
import { useState } from 'preact/hooks'
import type { Explanation } from '#engine/explain/explanation.ts'
import type { Answer } from '#engine/ui/api/client.ts'
import { count, percent } from '#engine/ui/format/numbers.ts'
import { Badge } from '#engine/ui/parts/badge.tsx'
import { Panel } from '#engine/ui/parts/panel.tsx'
import { Empty } from '#engine/ui/parts/state.tsx'
import {
  type BackendNode,
  type ListenerNode,
  type Mark,
  markOfListener,
  markOfRoute,
  type PolicyNode,
  type RouteNode
} from './graph.ts'
import { type Hits, hitsOf, strayOf } from './traffic.ts'
import { shortPlace, VERDICTS } from './verdict.tsx'

type Destinations = Answer<'listBackends'>['backends']

export interface ListenerProps {
  readonly listener: ListenerNode
  readonly explanation: Explanation | null
  readonly backends: Destinations
  /** Null: not known yet. */
  readonly traffic: Answer<'getTraffic'> | null
}

export function Listener({ listener, explanation, backends, traffic }: ListenerProps) {
  const { port, name, hostname, protocol, before, routes } = listener
  const mark = markOfListener(explanation, listener)
  const stray = strayOf(traffic, listener)
  return (
    <div class={classOf('listener', mark)}>
      <Panel
        title={`:${port} ${name}`}
        actions={
          <>
            <span class="muted">
              {protocol}, host {hostname}
            </span>
            {stray > 0 && <Badge tone="warn">{count(stray)} without a route</Badge>}
            <Marked mark={mark} />
          </>
        }
      >
        {before.length > 0 && (
          <div class="route">
            <div class="muted">before the route is known</div>
            <Policies of={before} explanation={mark?.kind === 'hit' ? explanation : null} />
          </div>
        )}
        {routes.length === 0 && <Empty>It has no routes.</Empty>}
        <ul>
          {routes.map((route) => (
            <Route
              key={route.name}
              route={route}
              mark={markOfRoute(explanation, listener, route)}
              explanation={explanation}
              backends={backends}
              hits={hitsOf(traffic, listener, route)}
            />
          ))}
        </ul>
      </Panel>
    </div>
  )
}

const classOf = (name: string, mark: Mark): string => (mark === null ? name : `${name} ${mark.kind}`)

function Marked({ mark }: { readonly mark: Mark }) {
  if (mark === null) return null
  if (mark.kind === 'hit') return <Badge tone="ok">takes it</Badge>
  return mark.why === null ? null : <span class="why">not: {mark.why}</span>
}

interface RouteProps {
  readonly route: RouteNode
  readonly mark: Mark
  readonly explanation: Explanation | null
  readonly backends: Destinations
  readonly hits: Hits | null
}

function Route({
  route: { name, hostnames, matches, policies, backends: own },
  mark,
  explanation,
  backends,
  hits
}: RouteProps) {
  const hit = mark?.kind === 'hit' ? explanation : null
  return (
    <li class={classOf('route', mark)}>
      <div class="what">
        <b>{name}</b> <Marked mark={mark} />
        {hostnames.length > 0 && <div class="muted">{hostnames.join(', ')}</div>}
        {matches.map((match) => (
          <div key={match}>
            <code>{match}</code>
          </div>
        ))}
        {hits !== null && <HitsLine of={hits} />}
      </div>
      <Policies of={policies} explanation={hit} />
      <ul class="backends">
        {own.length === 0 && <li class="muted">no backend: a policy answers</li>}
        {own.map((backend) => (
          <BackendItem
            key={backend.name}
            of={backend}
            isAlone={own.length === 1}
            isHit={hit?.upstream?.backend === backend.name}
            destinations={backends}
          />
        ))}
      </ul>
    </li>
  )
}

function HitsLine({ of: { requests, text, failed, refused } }: { readonly of: Hits }) {
  return (
    <div class={requests === 0 ? 'hits muted' : 'hits'}>
      {text}
      {failed !== null && <Badge tone="bad">{failed}</Badge>}
      {refused !== null && <Badge tone="warn">{refused}</Badge>}
    </div>
  )
}

function Policies({
  of,
  explanation
}: {
  readonly of: readonly PolicyNode[]
  readonly explanation: Explanation | null
}) {
  const [open, setOpen] = useState<string | null>(null)
  const shown = of.find(({ name }) => name === open)
  return (
    <div class="policies">
      {of.map(({ name, level, phase }) => {
        const step = explanation?.policies.find((one) => one.policy === name && one.phase === phase)
        const verdict = step === undefined ? null : VERDICTS[step.verdict]
        return (
          <button
            type="button"
            key={name}
            class={`chip ${verdict?.tone ?? ''}`}
            aria-expanded={open === name}
            onClick={() => setOpen(open === name ? null : name)}
          >
            {name}
            {level !== 'route' && <small> of the {level}</small>}
            {verdict !== null && <small> {verdict.text}</small>}
          </button>
        )
      })}
      {shown !== undefined && (
        <figure class="value">
          <figcaption class="muted">
            {shown.name} of the {shown.level}
            {placeOf(explanation, shown.name)}
          </figcaption>
          <pre class="sample">{JSON.stringify(shown.value, null, 2)}</pre>
        </figure>
      )}
    </div>
  )
}

function placeOf(explanation: Explanation | null, policy: string): string {
  const source = explanation?.policies.find((step) => step.policy === policy)?.places[0]?.source
  return source == null ? '' : `, ${shortPlace(source)}`
}

interface BackendItemProps {
  readonly of: BackendNode
  readonly isAlone: boolean
  readonly isHit: boolean
  readonly destinations: Destinations
}

function BackendItem({ of: { name, kind, share, address, policies }, isAlone, isHit, destinations }: BackendItemProps) {
  const known = destinations.find(({ destination }) => destination === name || destination === address)?.addresses ?? []
  const away = known.filter(({ state }) => state !== 'healthy')
  return (
    <li class={isHit ? 'backend hit' : 'backend'}>
      <span class={`dot ${toneOf(known.length, away.length)}`} />
      <div>
        <b>{name}</b> {!isAlone && <span class="muted">{percent(share)}</span>}{' '}
        {isHit && <Badge tone="ok">gets it</Badge>}
        <div class="muted">
          {kind} {address !== null && address !== name && <code>{address}</code>}
          {known.length > 0 && away.length === 0 && ', healthy'}
          {away.length > 0 && `: ${away.length} of ${known.length} away (${away[0]!.reason})`}
        </div>
        {policies.length > 0 && <div class="muted">{policies.join(', ')}</div>}
      </div>
    </li>
  )
}

/** None is known before the first request. */
function toneOf(known: number, away: number): string {
  if (known === 0) return ''
  return away === 0 ? 'ok' : away < known ? 'warn' : 'bad'
}
