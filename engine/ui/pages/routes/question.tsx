/** A request that is not sent: what would become of it? */
import { useEffect, useState } from 'preact/hooks'
import type { Explanation } from '#engine/explain/explanation.ts'
import { type ApiFailure, call } from '#engine/ui/api/client.ts'
import { place, setQuery } from '#engine/ui/app/router.ts'
import { Choice, Field, TextField, wrongWith } from '#engine/ui/parts/form.tsx'
import { Panel } from '#engine/ui/parts/panel.tsx'
import { Failure } from '#engine/ui/parts/state.tsx'
import { headersOf } from './graph.ts'

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

export interface QuestionProps {
  /** A URL that some listener takes. */
  readonly example: string
  readonly onExplained: (explanation: Explanation | null) => void
}

export function Question({ example, onExplained }: QuestionProps) {
  const { query } = place.value
  const method = query.get('method') ?? 'GET'
  const url = query.get('url') ?? ''
  // Not in the address, which is kept and sent around: headers may have keys.
  const [headers, setHeaders] = useState('')
  const [body, setBody] = useState('')
  const [failure, setFailure] = useState<ApiFailure | null>(null)
  const explain = async () => {
    try {
      const request = { method, url, headers: headersOf(headers), ...(body === '' ? {} : { body }) }
      const answer = await call('explain', { body: request })
      setFailure(null)
      onExplained(answer as unknown as Explanation)
    } catch (problem) {
      setFailure(problem as ApiFailure)
      onExplained(null)
    }
  }
  // A link to a question is a link to its answer.
  useEffect(() => {
    if (url !== '') void explain()
  }, [])
  const submit = (event: Event) => {
    event.preventDefault()
    void explain()
  }
  return (
    <Panel title="What would this request hit?">
      <form class="body stack" onSubmit={submit}>
        <div class="question">
          <Choice
            label="Method"
            value={method}
            onChange={(value) => setQuery({ method: value })}
            options={METHODS.map((one) => [one, one])}
          />
          <TextField
            label="URL"
            value={url}
            onInput={(value) => setQuery({ url: value })}
            placeholder={example}
            wrong={wrongWith(failure, 'url')}
            isRequired
          />
          <button type="submit" class="primary">
            Explain
          </button>
        </div>
        <More headers={headers} body={body} onHeaders={setHeaders} onBody={setBody} />
        {failure !== null && wrongWith(failure, 'url') === null && <Failure message={failure.message} />}
      </form>
    </Panel>
  )
}

interface MoreProps {
  readonly headers: string
  readonly body: string
  readonly onHeaders: (text: string) => void
  readonly onBody: (text: string) => void
}

function More({ headers, body, onHeaders, onBody }: MoreProps) {
  return (
    <details>
      <summary>Headers and body</summary>
      <div class="fields">
        <Field label="Headers" hint="One in each line. They stay out of the address.">
          {(ties) => (
            <textarea
              {...ties}
              spellcheck={false}
              placeholder="x-team: red"
              value={headers}
              onInput={({ currentTarget }) => onHeaders(currentTarget.value)}
            />
          )}
        </Field>
        <Field label="Body">
          {(ties) => (
            <textarea
              {...ties}
              spellcheck={false}
              value={body}
              onInput={({ currentTarget }) => onBody(currentTarget.value)}
            />
          )}
        </Field>
      </div>
    </details>
  )
}
