/** What a token says, and what a route would say to it. The token stays in the page. */
import { useState } from 'preact/hooks'
import type { Explanation } from '#engine/explain/explanation.ts'
import { type ApiFailure, call } from '#engine/ui/api/client.ts'
import { place, setQuery } from '#engine/ui/app/router.ts'
import { ago } from '#engine/ui/format/numbers.ts'
import { Verdict } from '#engine/ui/pages/routes/verdict.tsx'
import { Badge } from '#engine/ui/parts/badge.tsx'
import { Field, TextField, wrongWith } from '#engine/ui/parts/form.tsx'
import { useNow } from '#engine/ui/parts/now.ts'
import { Panel } from '#engine/ui/parts/panel.tsx'
import { Failure } from '#engine/ui/parts/state.tsx'
import { readToken, type TokenParts, timesOf } from './token.ts'

const TIMES = { iat: 'issued', nbf: 'good from', exp: 'expires' } as const

export function Token() {
  const [text, setText] = useState('')
  const parts = text.trim() === '' ? null : readToken(text)
  return (
    <>
      <Panel title="Token">
        <div class="body">
          <Field
            label="JSON web token"
            hint="It stays in this page, and in what is explained below."
            wrong={typeof parts === 'string' ? parts : null}
          >
            {(ties) => (
              <textarea
                {...ties}
                data-search
                rows={4}
                spellcheck={false}
                autocomplete="off"
                value={text}
                onInput={({ currentTarget }) => setText(currentTarget.value)}
              />
            )}
          </Field>
        </div>
      </Panel>
      {parts !== null && typeof parts === 'object' && <Content of={parts} />}
      {parts !== null && typeof parts === 'object' && <Refusal token={text.trim().replace(/^Bearer\s+/i, '')} />}
    </>
  )
}

function Content({ of }: { readonly of: TokenParts }) {
  const now = useNow()
  const times = timesOf(of, now)
  return (
    <Panel
      title="What it says"
      actions={times.map(({ claim, at, isBad }) => (
        <Badge key={claim} tone={isBad ? 'bad' : 'ok'}>
          {TIMES[claim]} {ago(new Date(at).toISOString(), now)}
        </Badge>
      ))}
    >
      <div class="body stack">
        <p class="muted">Read, and not verified: whether the signature is good says a route, below.</p>
        <h3>Header</h3>
        <pre class="sample">{JSON.stringify(of.header, null, 2)}</pre>
        <h3>Claims</h3>
        <pre class="sample">{JSON.stringify(of.claims, null, 2)}</pre>
      </div>
    </Panel>
  )
}

function Refusal({ token }: { readonly token: string }) {
  const url = place.value.query.get('url') ?? ''
  const [failure, setFailure] = useState<ApiFailure | null>(null)
  const [explanation, setExplanation] = useState<Explanation | null>(null)
  const explain = async (event: Event) => {
    event.preventDefault()
    try {
      const headers = { authorization: `Bearer ${token}` }
      const answer = await call('explain', { body: { method: 'GET', url, headers } })
      setExplanation(answer as unknown as Explanation)
      setFailure(null)
    } catch (problem) {
      setFailure(problem as ApiFailure)
      setExplanation(null)
    }
  }
  return (
    <>
      <Panel title="Why does a route refuse it?">
        <form class="body stack" onSubmit={(event) => void explain(event)}>
          <div class="question two">
            <TextField
              label="URL of a request with it"
              value={url}
              onInput={(value) => setQuery({ url: value })}
              placeholder="http://localhost:8080/"
              wrong={wrongWith(failure, 'url')}
              isRequired
            />
            <button type="submit" class="primary">
              Explain
            </button>
          </div>
          {failure !== null && wrongWith(failure, 'url') === null && <Failure message={failure.message} />}
        </form>
      </Panel>
      {explanation !== null && <Verdict of={explanation} />}
    </>
  )
}
