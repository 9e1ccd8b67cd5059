/** A request that is not sent: what would become of it? */
import { useEffect, useState } from 'preact/hooks'
import type { Explanation } from '#engine/explain/explanation.ts'
import { type ApiFailure, call } from '#engine/ui/api/client.ts'
import { place, setQuery } from '#engine/ui/app/router.ts'
import { headersOf } from '#engine/ui/format/request.ts'
import { wrongWith } from '#engine/ui/parts/form.tsx'
import { Panel } from '#engine/ui/parts/panel.tsx'
import { type RequestDraft, RequestFields } from '#engine/ui/parts/request-fields.tsx'
import { Failure } from '#engine/ui/parts/state.tsx'

export interface QuestionProps {
  /** A URL that some listener takes. */
  readonly example: string
  readonly onExplained: (explanation: Explanation | null) => void
}

export function Question({ example, onExplained }: QuestionProps) {
  const { query } = place.value
  // Not in the address, which is kept and sent around: headers may have keys.
  const [rest, setRest] = useState({ headers: '', body: '' })
  const [failure, setFailure] = useState<ApiFailure | null>(null)
  const draft: RequestDraft = { method: query.get('method') ?? 'GET', url: query.get('url') ?? '', ...rest }
  const change = ({ method, url, ...others }: Partial<RequestDraft>) => {
    setRest((before) => ({ ...before, ...others }))
    setQuery({ ...(method === undefined ? {} : { method }), ...(url === undefined ? {} : { url }) })
  }
  const explain = async () => {
    const { method, url, headers, body } = draft
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
    if (draft.url !== '') void explain()
  }, [])
  const submit = (event: Event) => {
    event.preventDefault()
    void explain()
  }
  const wrong = wrongWith(failure, 'url')
  return (
    <Panel title="What would this request hit?">
      <form class="body stack" onSubmit={submit}>
        <RequestFields draft={draft} onChange={change} example={example} verb="Explain" wrong={wrong} />
        {failure !== null && wrong === null && <Failure message={failure.message} />}
      </form>
    </Panel>
  )
}
