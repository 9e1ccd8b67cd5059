/** What a server asks of the person: fields (elicitation), or an answer in a model’s place (sampling). */
import { useState } from 'preact/hooks'
import { Field } from '#engine/ui/parts/form.tsx'
import { Panel } from '#engine/ui/parts/panel.tsx'
import type { Json, Question } from './messages.ts'
import { SchemaForm } from './schema-form.tsx'

export interface QuestionFormProps {
  readonly of: Question
  readonly onAnswer: (result: Json) => void
}

export function QuestionForm({ of, onAnswer }: QuestionFormProps) {
  return (
    <Panel title={`The server asks: ${of.method}`}>
      <div class="body stack" role="alert">
        {of.kind === 'elicitation' ? (
          <Elicitation of={of} onAnswer={onAnswer} />
        ) : (
          <Sampling of={of} onAnswer={onAnswer} />
        )}
      </div>
    </Panel>
  )
}

function Elicitation({ of: { params }, onAnswer }: QuestionFormProps) {
  return (
    <>
      <p>{String(params.message ?? '')}</p>
      <SchemaForm
        schema={params.requestedSchema}
        verb="Accept"
        onSubmit={(content) => onAnswer({ action: 'accept', content })}
      >
        <button type="button" onClick={() => onAnswer({ action: 'decline' })}>
          Decline
        </button>
        <button type="button" onClick={() => onAnswer({ action: 'cancel' })}>
          Cancel
        </button>
      </SchemaForm>
    </>
  )
}

/** Other questions, such as for roots, are answered as JSON. */
function Sampling({ of: { kind, params }, onAnswer }: QuestionFormProps) {
  const [text, setText] = useState('')
  const [wrong, setWrong] = useState<string | null>(null)
  const submit = (event: Event) => {
    event.preventDefault()
    if (kind === 'sampling') {
      onAnswer({ role: 'assistant', content: { type: 'text', text }, model: 'a person', stopReason: 'endTurn' })
      return
    }
    try {
      onAnswer(JSON.parse(text) as Json)
    } catch {
      setWrong('This is no JSON.')
    }
  }
  return (
    <form class="stack" onSubmit={submit}>
      <pre class="sample">{JSON.stringify(params, null, 2)}</pre>
      <Field label={kind === 'sampling' ? 'What a model would answer' : 'The result, as JSON'} wrong={wrong}>
        {(ties) => <textarea {...ties} value={text} onInput={({ currentTarget }) => setText(currentTarget.value)} />}
      </Field>
      <p class="actions">
        <button type="submit" class="primary">
          Answer
        </button>
      </p>
    </form>
  )
}
