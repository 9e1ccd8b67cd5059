/** What the identity sees, and what each of it gives. */
import { useState } from 'preact/hooks'
import { place, setQuery } from '#engine/ui/app/router.ts'
import { duration } from '#engine/ui/format/numbers.ts'
import { Badge } from '#engine/ui/parts/badge.tsx'
import { Panel } from '#engine/ui/parts/panel.tsx'
import { Empty, Failure } from '#engine/ui/parts/state.tsx'
import type { Lists } from './client.tsx'
import { contentText, type Json } from './messages.ts'
import { SchemaForm } from './schema-form.tsx'
import type { Session } from './session.ts'

type Kind = 'tools' | 'resources' | 'prompts'

const KINDS: readonly { readonly kind: Kind; readonly title: string; readonly verb: string }[] = [
  { kind: 'tools', title: 'Tools', verb: 'Call' },
  { kind: 'prompts', title: 'Prompts', verb: 'Get' },
  { kind: 'resources', title: 'Resources', verb: 'Read' }
]

export interface ItemsProps {
  readonly lists: Lists
  readonly session: Session
}

export function Items({ lists, session }: ItemsProps) {
  const { query } = place.value
  const [kind, name] = [query.get('kind') ?? 'tools', query.get('item')]
  const chosen = KINDS.find((one) => one.kind === kind) ?? KINDS[0]!
  const item = lists[chosen.kind].find((one) => nameOf(one) === name)
  return (
    <div class="sides">
      <div class="stack">
        {KINDS.map((one) => (
          <Panel key={one.kind} title={one.title} actions={<span class="muted">{lists[one.kind].length}</span>}>
            {lists[one.kind].length === 0 ? (
              <Empty>None for this identity.</Empty>
            ) : (
              <ul class="choices">
                {lists[one.kind].map((each) => (
                  <li key={nameOf(each)}>
                    <button
                      type="button"
                      class="link"
                      aria-current={one.kind === chosen.kind && nameOf(each) === name ? 'true' : undefined}
                      onClick={() => setQuery({ kind: one.kind, item: nameOf(each) })}
                    >
                      {nameOf(each)}
                    </button>
                  </li>
                ))}
              </ul>
            )}
          </Panel>
        ))}
      </div>
      {item === undefined ? (
        <Empty>Choose a tool, a prompt or a resource.</Empty>
      ) : (
        <Item key={`${chosen.kind} ${name}`} item={item} kind={chosen.kind} verb={chosen.verb} session={session} />
      )}
    </div>
  )
}

/** Resources are known by their URI. */
const nameOf = (item: Json): string => String(item.uri ?? item.name ?? '')

interface ItemProps {
  readonly item: Json
  readonly kind: Kind
  readonly verb: string
  readonly session: Session
}

interface Outcome {
  readonly result: Json | null
  readonly failure: string | null
  readonly ms: number
}

function Item({ item, kind, verb, session }: ItemProps) {
  const [outcome, setOutcome] = useState<Outcome | null>(null)
  const [isBusy, setBusy] = useState(false)
  const run = async (values: Json) => {
    const startedAt = performance.now()
    const took = () => performance.now() - startedAt
    setBusy(true)
    setOutcome(null)
    try {
      const result = await session.request(...requestOf(kind, item, values))
      setOutcome({ result, failure: null, ms: took() })
    } catch (problem) {
      setOutcome({ result: null, failure: (problem as Error).message, ms: took() })
    }
    setBusy(false)
  }
  const { description, annotations } = item as { readonly description?: string; readonly annotations?: Json }
  return (
    <Panel title={nameOf(item)} actions={outcome !== null && <span class="muted">{duration(outcome.ms)}</span>}>
      <div class="body stack">
        {description !== undefined && <p>{description}</p>}
        {annotations !== undefined && <p class="muted mono">{JSON.stringify(annotations)}</p>}
        <SchemaForm schema={schemaOf(kind, item)} verb={verb} isBusy={isBusy} onSubmit={(values) => void run(values)} />
        {outcome?.failure != null && <Failure message={outcome.failure} />}
        {outcome?.result != null && <Result of={outcome.result} />}
      </div>
    </Panel>
  )
}

function Result({ of }: { readonly of: Json }) {
  const text = contentText(of)
  return (
    <>
      {of.isError === true && <Badge tone="bad">the tool failed</Badge>}
      {text !== '' && (
        <pre class="sample" role="status">
          {text}
        </pre>
      )}
      <details>
        <summary>As it came</summary>
        <pre class="sample">{JSON.stringify(of, null, 2)}</pre>
      </details>
    </>
  )
}

/** Prompts have a list of arguments, which are texts. */
function schemaOf(kind: Kind, item: Json): unknown {
  if (kind === 'tools') return item.inputSchema
  if (kind === 'resources') return undefined
  const list = (item.arguments ?? []) as readonly {
    readonly name: string
    readonly description?: string
    readonly required?: boolean
  }[]
  return {
    properties: Object.fromEntries(list.map(({ name, description }) => [name, { type: 'string', description }])),
    required: list.flatMap(({ name, required }) => (required === true ? [name] : []))
  }
}

function requestOf(kind: Kind, item: Json, values: Json): [string, Json] {
  if (kind === 'tools') return ['tools/call', { name: item.name, arguments: values }]
  if (kind === 'prompts') return ['prompts/get', { name: item.name, arguments: values }]
  return ['resources/read', { uri: item.uri }]
}
