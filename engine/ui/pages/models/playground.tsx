/** A chat through the gateway, in any client format, with one model or with two beside each other. */

import { signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { place, setQuery } from '#engine/ui/app/router.ts'
import { Act } from '#engine/ui/parts/act.tsx'
import { Choice, Field, TextField } from '#engine/ui/parts/form.tsx'
import { Panel } from '#engine/ui/parts/panel.tsx'
import { type Answer, NONE } from './answer.ts'
import { ask } from './ask.ts'
import { type Chat, FORMATS, formatOf } from './formats.ts'
import type { Door } from './models.ts'
import { Pane } from './pane.tsx'

/** Of this visit: a key is kept nowhere. */
const clientKey = signal('')

interface Draft {
  readonly prompt: string
  readonly system: string
  readonly maxTokens: string
  /** JSON of further fields. */
  readonly more: string
  readonly isStream: boolean
}

const FIRST: Draft = {
  prompt: 'What is a weir? Two sentences.',
  system: '',
  maxTokens: '300',
  more: '',
  isStream: true
}

export interface PlaygroundProps {
  readonly doors: readonly Door[]
  readonly models: readonly string[]
}

export function Playground({ doors, models }: PlaygroundProps) {
  const { query } = place.value
  const door = doors.find(({ url }) => url === query.get('at')) ?? doors[0]!
  const format = formatOf(query.get('format'))
  const names = [query.get('model') ?? models[0] ?? '', query.get('beside') ?? ''].filter((name) => name !== '')
  const [draft, setDraft] = useState(FIRST)
  const [answers, setAnswers] = useState<readonly Answer[]>([])
  const [wrong, setWrong] = useState<string | null>(null)
  const [isBusy, setBusy] = useState(false)
  const running = useRef<AbortController | null>(null)
  useEffect(() => () => running.current?.abort(), [])
  const run = async (event: Event) => {
    event.preventDefault()
    const more = fieldsIn(draft.more)
    setWrong(more === null ? 'This is no JSON object.' : null)
    if (more === null) return
    running.current = new AbortController()
    setBusy(true)
    setAnswers(names.map(() => NONE))
    const set = (at: number) => (change: (before: Answer) => Answer) =>
      setAnswers((before) => before.map((answer, i) => (i === at ? change(answer) : answer)))
    const { signal: left } = running.current
    const chats = names.map((model): Chat => ({ ...draft, model, maxTokens: Number(draft.maxTokens) || 300, more }))
    await Promise.all(chats.map((chat, i) => ask({ door, format, chat, key: clientKey.value }, set(i), left)))
    setBusy(false)
  }
  return (
    <Panel title="Playground">
      <form class="body stack" onSubmit={(event) => void run(event)}>
        <Where doors={doors} door={door} formatId={format.id} models={models} names={names} />
        <Draft draft={draft} wrong={wrong} onChange={setDraft} />
        <p class="actions">
          <Act of="sendRequest" type="submit" class="primary" disabled={isBusy || names.length === 0}>
            Send
          </Act>
          <button type="button" disabled={!isBusy} onClick={() => running.current?.abort()}>
            Stop
          </button>
          <span class="muted">
            It goes through the gateway, with all its policies, and costs what it costs:{' '}
            <code>{door.url + format.path({ ...FIRST, model: names[0] ?? '', maxTokens: 0, more: {} })}</code>
          </span>
        </p>
      </form>
      {answers.length > 0 && (
        <div class="panes">
          {answers.map((answer, i) => (
            <Pane key={`${i} ${names[i]}`} model={names[i] ?? ''} answer={answer} isBusy={isBusy} />
          ))}
        </div>
      )}
    </Panel>
  )
}

interface WhereProps extends PlaygroundProps {
  readonly door: Door
  readonly formatId: string
  readonly names: readonly string[]
}

function Where({ doors, door, formatId, models, names }: WhereProps) {
  return (
    <div class="fields">
      <Choice
        label="Route"
        value={door.url}
        onChange={(at) => setQuery({ at })}
        options={doors.map(({ url, title }) => [url, title])}
      />
      <Choice
        label="Client format"
        value={formatId}
        onChange={(format) => setQuery({ format })}
        options={FORMATS.map(({ id, title }) => [id, title])}
      />
      <TextField
        label="Model"
        value={names[0] ?? ''}
        onInput={(model) => setQuery({ model })}
        options={models}
        isRequired
      />
      <TextField
        label="Beside it"
        value={names[1] ?? ''}
        onInput={(beside) => setQuery({ beside })}
        options={models}
        hint="A second model, for comparison."
      />
      <Field label="Key of a client" hint="It stays in this page.">
        {(ties) => (
          <input
            {...ties}
            type="password"
            autocomplete="off"
            value={clientKey.value}
            onInput={({ currentTarget }) => (clientKey.value = currentTarget.value)}
          />
        )}
      </Field>
    </div>
  )
}

interface DraftProps {
  readonly draft: Draft
  readonly wrong: string | null
  readonly onChange: (draft: Draft) => void
}

function Draft({ draft, wrong, onChange }: DraftProps) {
  const area = (
    field: 'prompt' | 'system' | 'more',
    label: string,
    more: { hint?: string; wrong?: string | null } = {}
  ) => (
    <Field label={label} {...more}>
      {(ties) => (
        <textarea
          {...ties}
          value={draft[field]}
          onInput={({ currentTarget }) => onChange({ ...draft, [field]: currentTarget.value })}
        />
      )}
    </Field>
  )
  return (
    <>
      {area('prompt', 'Prompt')}
      <details>
        <summary>System prompt, bounds, tools</summary>
        <div class="fields">
          {area('system', 'System prompt')}
          {area('more', 'Further fields of the body', {
            hint: 'A JSON object: {"tools": [...], "temperature": 0}',
            wrong
          })}
          <TextField
            label="Output tokens at most"
            type="number"
            value={draft.maxTokens}
            onInput={(maxTokens) => onChange({ ...draft, maxTokens })}
          />
          <label class="check">
            <input
              type="checkbox"
              checked={draft.isStream}
              onChange={({ currentTarget }) => onChange({ ...draft, isStream: currentTarget.checked })}
            />
            Streamed
          </label>
        </div>
      </details>
    </>
  )
}

/** Null: it is no JSON object. */
function fieldsIn(text: string): Record<string, unknown> | null {
  if (text.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null
  } catch {
    return null
  }
}
