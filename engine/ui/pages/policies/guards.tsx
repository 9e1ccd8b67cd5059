/** What patterns of prompt guards find in a text, and what a model would get of it. */
import { useState } from 'preact/hooks'
import { Badge } from '#engine/ui/parts/badge.tsx'
import { Field, wrongWith } from '#engine/ui/parts/form.tsx'
import { Panel } from '#engine/ui/parts/panel.tsx'
import { Failure } from '#engine/ui/parts/state.tsx'
import { useTried } from './answers.ts'
import { Marks } from './marked.tsx'

/** As the configuration names them, with what they find. */
const BUILTINS = [
  ['Ssn', 'US social security numbers'],
  ['CreditCard', 'Card numbers'],
  ['PhoneNumber', 'Phone numbers'],
  ['Email', 'Mail addresses'],
  ['CaSin', 'Canadian insurance numbers']
] as const
type Builtin = (typeof BUILTINS)[number][0]

const TEXT = 'I am Ann, ann@example.com, +1 415 555 2671. My card is 4111 1111 1111 1111, my SSN 536-22-8714.'

export function Guards() {
  const [text, setText] = useState(TEXT)
  const [chosen, setChosen] = useState<ReadonlySet<Builtin>>(new Set(BUILTINS.map(([name]) => name)))
  const [patterns, setPatterns] = useState('')
  const builtins = BUILTINS.map(([name]) => name).filter((name) => chosen.has(name))
  const matches = patterns.split('\n').filter((line) => line !== '')
  const { answer, failure } = useTried('tryGuard', { text, builtins, matches })
  const toggle = (name: Builtin) => {
    const next = new Set(chosen)
    if (!next.delete(name)) next.add(name)
    setChosen(next)
  }
  return (
    <>
      <Panel title="Guard">
        <div class="body stack">
          <Field label="Text of a prompt or an answer">
            {(ties) => (
              <textarea
                {...ties}
                data-search
                rows={4}
                value={text}
                onInput={({ currentTarget }) => setText(currentTarget.value)}
              />
            )}
          </Field>
          <fieldset class="checks">
            <legend>Built-in patterns</legend>
            {BUILTINS.map(([name, what]) => (
              <label key={name} class="check">
                <input type="checkbox" checked={chosen.has(name)} onChange={() => toggle(name)} />
                {what} <code class="muted">{name}</code>
              </label>
            ))}
          </fieldset>
          <Field
            label="Patterns of your own"
            hint="One in each line, in RE2 syntax: matches of promptGuard."
            wrong={wrongWith(failure, 'matches')}
          >
            {(ties) => (
              <textarea
                {...ties}
                rows={2}
                spellcheck={false}
                placeholder="(?i)project\s+falcon"
                value={patterns}
                onInput={({ currentTarget }) => setPatterns(currentTarget.value)}
              />
            )}
          </Field>
        </div>
      </Panel>
      {failure !== null && wrongWith(failure, 'matches') === null && <Failure message={failure.message} />}
      {answer !== null && (
        <Panel title="Found" actions={<Found count={answer.found.length} />}>
          <div class="body stack" aria-live="polite">
            <Marks text={text} marks={answer.found} titleOf={({ mask }) => mask} />
            <p class="muted">A model would get, where the guard masks:</p>
            <pre class="sample">{answer.masked}</pre>
          </div>
        </Panel>
      )}
    </>
  )
}

function Found({ count }: { readonly count: number }) {
  if (count === 0) return <Badge tone="ok">nothing</Badge>
  return <Badge tone="warn">{count === 1 ? 'one place' : `${count} places`}</Badge>
}
