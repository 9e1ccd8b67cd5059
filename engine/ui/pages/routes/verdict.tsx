/** How a request that was not sent would end, and what each policy would say to it. */
import type { Explanation, Outcome, PolicyStep, PolicyVerdict, Upstream } from '#engine/explain/explanation.ts'
import { Badge, type Tone } from '#engine/ui/parts/badge.tsx'
import { Panel } from '#engine/ui/parts/panel.tsx'

export const VERDICTS: { readonly [verdict in PolicyVerdict]: { readonly tone: Tone; readonly text: string } } = {
  passes: { tone: 'ok', text: 'passes' },
  answers: { tone: 'bad', text: 'ends it' },
  asks: { tone: 'warn', text: 'asks a service' },
  setting: { tone: 'plain', text: 'is a setting' },
  response: { tone: 'plain', text: 'acts on the answer' },
  unreached: { tone: 'plain', text: 'not reached' }
}

export function Verdict({ of }: { readonly of: Explanation }) {
  const { outcome, policies, upstream, notes, route, listener } = of
  return (
    <Panel title="What would become of it" actions={<Ending of={outcome} />}>
      <div class="body stack" aria-live="polite">
        <p>
          {listener === null ? 'No listener takes it.' : `Listener ${listener.name}, port ${listener.port}. `}
          {listener !== null && (route === null ? 'No route matches.' : `Route ${route.name}, ${route.match}.`)}{' '}
          <Where of={route ?? listener} />
        </p>
        {'detail' in outcome && outcome.detail !== null && <p class="mono">{outcome.detail}</p>}
        {policies.length > 0 && (
          <ol class="steps">
            {policies.map((step) => (
              <Step key={`${step.phase} ${step.policy}`} of={step} />
            ))}
          </ol>
        )}
        {upstream !== null && <Sent of={upstream} />}
        {outcome.kind === 'answer' && outcome.body !== '' && <pre class="sample">{outcome.body.trimEnd()}</pre>}
        {notes.map((note) => (
          <p key={note} class="muted">
            {note}
          </p>
        ))}
      </div>
    </Panel>
  )
}

function Ending({ of }: { readonly of: Outcome }) {
  if (of.kind === 'upstream') return <Badge tone="ok">reaches its backend</Badge>
  if (of.kind !== 'answer')
    return <Badge tone="bad">{of.kind === 'connection' ? 'no HTTP answer' : 'not decided'}</Badge>
  return (
    <Badge tone={of.status < 400 ? 'ok' : 'bad'}>
      {of.status} {of.code ?? ''} {of.policy === null ? '' : `by ${of.policy}`}
    </Badge>
  )
}

function Where({ of }: { readonly of: { readonly source: string | null } | null }) {
  return of?.source == null ? null : <code class="muted">{shortPlace(of.source)}</code>
}

/** "/etc/weir/weir.yaml:4:2" is "weir.yaml:4:2". */
export const shortPlace = (source: string): string => source.slice(source.lastIndexOf('/') + 1)

function Step({
  of: { policy, verdict, detail, expressions, changes, asks, limits, places }
}: {
  readonly of: PolicyStep
}) {
  const { tone, text } = VERDICTS[verdict]
  const facts = [...(detail === null ? expressions : []), ...changes, ...asks, ...limits]
  return (
    <li>
      <b>{policy}</b> <Badge tone={tone}>{text}</Badge> {places[0] !== undefined && <Where of={places[0]} />}
      {facts.map((fact) => (
        <div key={fact} class="mono muted">
          {fact}
        </div>
      ))}
    </li>
  )
}

function Sent({
  of: { backend, kind, endpoint, hosts, method, target, host, shares, llm }
}: {
  readonly of: Upstream
}) {
  const to = endpoint ?? hosts?.join(', ') ?? 'what DNS answers'
  return (
    <p>
      Backend <b>{backend}</b> ({kind}) at <code>{to}</code> gets{' '}
      <code>
        {method} {target}
      </code>{' '}
      for <code>{host}</code>
      {llm !== null &&
        ` as ${llm.operation ?? 'a call'} of ${llm.model ?? 'a model'} at ${llm.provider ?? 'a provider'}`}
      .{shares.length > 1 && ` Shares: ${shares.map((share) => `${share.backend} ${share.percent} %`).join(', ')}.`}
    </p>
  )
}
