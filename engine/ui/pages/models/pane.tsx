/** One model's answer, with what it took. */
import { count, duration } from '#engine/ui/format/numbers.ts'
import { Badge } from '#engine/ui/parts/badge.tsx'
import { Failure } from '#engine/ui/parts/state.tsx'
import type { Answer } from './answer.ts'

export interface PaneProps {
  readonly model: string
  readonly answer: Answer
  readonly isBusy: boolean
}

export function Pane({ model, answer, isBusy }: PaneProps) {
  const { status, text, calls, input, output, firstMs, wholeMs, cost, notes, failure } = answer
  const isOver = wholeMs !== null || failure !== null
  return (
    <section class="pane" aria-label={`Answer of ${model}`} aria-busy={isBusy && !isOver}>
      <header>
        <h3>{model}</h3>
        {status !== null && <Badge tone={status < 400 ? 'ok' : 'bad'}>{status}</Badge>}
      </header>
      {failure !== null && <Failure message={failure} />}
      <p class="answer" aria-live="polite">
        {text}
        {!isOver && <span class="muted"> …</span>}
      </p>
      {calls !== '' && <pre class="sample">{calls}</pre>}
      <dl class="took">
        <Took name="First text" value={firstMs === null ? null : duration(firstMs)} />
        <Took name="All of it" value={wholeMs === null ? null : duration(wholeMs)} />
        <Took name="Input" value={input === null ? null : `${count(input)} tokens`} />
        <Took name="Output" value={output === null ? null : `${count(output)} tokens`} />
        <Took name="Speed" value={speedOf(answer)} />
        <Took name="Cost" value={cost} />
      </dl>
      {notes.length > 0 && (
        <details>
          <summary>What the gateway adds</summary>
          <pre class="sample">{notes.join('\n')}</pre>
        </details>
      )}
    </section>
  )
}

function Took({ name, value }: { readonly name: string; readonly value: string | null }) {
  if (value === null) return null
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  )
}

function speedOf({ firstMs, wholeMs, output, isStream }: Answer): string | null {
  if (!isStream || firstMs === null || wholeMs === null || output === null || wholeMs <= firstMs) return null
  return `${count((output * 1000) / (wholeMs - firstMs))} tokens/s`
}
