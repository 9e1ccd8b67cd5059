/** An expression of CEL, on a sample that can be changed: its value, what it reads, its mistakes in their places. */
import { useState } from 'preact/hooks'
import type { Answer } from '#engine/ui/api/client.ts'
import { place, setQuery } from '#engine/ui/app/router.ts'
import { exact } from '#engine/ui/format/numbers.ts'
import { Badge } from '#engine/ui/parts/badge.tsx'
import { Choice, Field } from '#engine/ui/parts/form.tsx'
import { Panel } from '#engine/ui/parts/panel.tsx'
import { Failure } from '#engine/ui/parts/state.tsx'
import { Table } from '#engine/ui/parts/table.tsx'
import { useTried } from './answers.ts'
import { Marks } from './marked.tsx'
import { EXAMPLES, readSample, SAMPLE } from './samples.ts'

type Result = Answer<'tryExpression'>
type Mistakes = Extract<Result, { readonly ok: false }>['problems']

const PLACES = [
  ['log', 'Access log: everything'],
  ['request', 'Requests: authorization, rate limits, transformation'],
  ['response', 'Answers: transformation of responses'],
  ['mcp', 'Rules about tools of MCP']
] as const

export function Expression() {
  const { query } = place.value
  const expression = query.get('expression') ?? EXAMPLES[0].expression
  const where = PLACES.find(([name]) => name === query.get('place'))?.[0] ?? 'log'
  // Not in the address: it may have claims and headers of somebody.
  const [text, setText] = useState(SAMPLE)
  const sample = readSample(text)
  const isSound = expression.trim() !== '' && typeof sample !== 'string'
  const { answer, failure } = useTried('tryExpression', isSound ? { expression, place: where, sample } : null)
  return (
    <>
      <Panel title="Expression">
        <div class="body stack">
          <Field label="CEL" hint="Evaluated as you type, with the limits of the gateway.">
            {(ties) => (
              <textarea
                {...ties}
                data-search
                rows={3}
                spellcheck={false}
                value={expression}
                onInput={({ currentTarget }) => setQuery({ expression: currentTarget.value })}
              />
            )}
          </Field>
          <div class="fields">
            <Choice
              label="Where it would stand"
              value={where}
              onChange={(value) => setQuery({ place: value })}
              options={PLACES}
            />
            <Choice
              label="Examples"
              value=""
              onChange={(value) => setQuery({ expression: value })}
              options={[['', 'Choose one'], ...EXAMPLES.map((one) => [one.expression, one.title] as const)]}
            />
          </div>
        </div>
      </Panel>
      {failure !== null && <Failure message={failure.message} />}
      {answer !== null && <Outcome of={answer} source={expression} />}
      <Panel title="Sample">
        <div class="body">
          <Field
            label="Values by their names"
            hint="JSON. What follows from request.url need not be written."
            wrong={typeof sample === 'string' ? sample : null}
          >
            {(ties) => (
              <textarea
                {...ties}
                rows={14}
                spellcheck={false}
                value={text}
                onInput={({ currentTarget }) => setText(currentTarget.value)}
              />
            )}
          </Field>
        </div>
      </Panel>
    </>
  )
}

function Outcome({ of, source }: { readonly of: Result; readonly source: string }) {
  if (!of.ok) return <Problems of={of.problems} source={source} />
  const { error, value, valueType, type, reads, cost } = of
  return (
    <Panel
      title="Result"
      actions={error === null ? <Badge tone="ok">{valueType}</Badge> : <Badge tone="warn">no value</Badge>}
    >
      <div class="body stack" aria-live="polite">
        <pre class="sample">{error === null ? JSON.stringify(value, null, 2) : error.message}</pre>
        <p class="muted">
          Type {type === 'dyn' ? 'is known when it runs' : type}; {exact(cost.steps)} of {exact(cost.stepsMax)} steps
          {cost.perElement > 0 &&
            `, and ${cost.perElement === 1 ? 'more for each element' : `more for each of ${cost.perElement} nested elements`} that a request brings`}
          .
        </p>
      </div>
      {reads.length > 0 && (
        <Table
          caption="What it has read"
          rows={reads}
          keyOf={({ name }) => name}
          columns={[
            { title: 'It reads', cell: ({ name }) => <code>{name}</code> },
            {
              title: 'Value',
              cell: (read) =>
                'value' in read ? <code>{JSON.stringify(read.value)}</code> : <span class="muted">not there</span>
            }
          ]}
        />
      )}
    </Panel>
  )
}

function Problems({ of, source }: { readonly of: Mistakes; readonly source: string }) {
  const marks = of
    .flatMap(({ offset, length = 0 }) => (offset === undefined ? [] : [{ start: offset, end: offset + length }]))
    .toSorted((a, b) => a.start - b.start)
  return (
    <Panel title="Result" actions={<Badge tone="bad">not valid</Badge>}>
      <div class="body stack" role="alert">
        {marks.length > 0 && <Marks text={source} marks={marks} />}
        <ul class="stack">
          {of.map(({ message, field, line, column }) => (
            <li key={`${field} ${line} ${column} ${message}`}>
              <code>{field === undefined ? `${line}:${column}` : `sample ${field}`}</code> {message}
            </li>
          ))}
        </ul>
      </div>
    </Panel>
  )
}
