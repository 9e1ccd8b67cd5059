/** Sends a request through the gateway, with a token that makes it be followed. */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Story } from '#engine/story/story.ts'
import { type ApiFailure, call } from '#engine/ui/api/client.ts'
import { send } from '#engine/ui/api/send.ts'
import { place, setQuery } from '#engine/ui/app/router.ts'
import { duration } from '#engine/ui/format/numbers.ts'
import { curlOf, headersOf } from '#engine/ui/format/request.ts'
import { Copy } from '#engine/ui/parts/copy.tsx'
import { wrongWith } from '#engine/ui/parts/form.tsx'
import { Panel } from '#engine/ui/parts/panel.tsx'
import { type RequestDraft, RequestFields } from '#engine/ui/parts/request-fields.tsx'
import { Failure } from '#engine/ui/parts/state.tsx'
import { storyOf } from './stories.ts'
import { Waterfall } from './waterfall.tsx'

interface Reply {
  readonly status: number
  readonly headers: readonly [string, string][]
  readonly text: string
  readonly ms: number
}

export function Try({ example }: { readonly example: string }) {
  const { query } = place.value
  const [rest, setRest] = useState({ headers: '', body: '' })
  const [failure, setFailure] = useState<ApiFailure | null>(null)
  const [reply, setReply] = useState<Reply | null>(null)
  const [story, setStory] = useState<Story | null>(null)
  const [isBusy, setBusy] = useState(false)
  const running = useRef<AbortController | null>(null)
  useEffect(() => () => running.current?.abort(), [])
  const draft: RequestDraft = { method: query.get('method') ?? 'GET', url: query.get('url') ?? '', ...rest }
  const change = ({ method, url, ...others }: Partial<RequestDraft>) => {
    setRest((before) => ({ ...before, ...others }))
    setQuery({ ...(method === undefined ? {} : { method }), ...(url === undefined ? {} : { url }) })
  }
  const run = async (event: Event) => {
    event.preventDefault()
    running.current?.abort()
    running.current = new AbortController()
    setBusy(true)
    setFailure(null)
    setReply(null)
    setStory(null)
    try {
      setStory(await tried(draft, setReply, running.current.signal))
    } catch (problem) {
      if (!running.current.signal.aborted) setFailure(problem as ApiFailure)
    }
    setBusy(false)
  }
  const wrong = wrongWith(failure, 'url')
  return (
    <Panel title="Send one, and see its story">
      <form class="body stack" onSubmit={(event) => void run(event)}>
        <RequestFields draft={draft} onChange={change} example={example} verb="Send" isBusy={isBusy} wrong={wrong} />
        {draft.url !== '' && (
          <Copy label="The same as a command" text={curlOf({ ...draft, headers: headersOf(draft.headers) })} />
        )}
        {failure !== null && wrong === null && <Failure message={failure.message} />}
      </form>
      {reply !== null && <Shown of={reply} />}
      {story !== null && <Waterfall of={story} />}
    </Panel>
  )
}

/** Resolves with its story, when it is over. */
async function tried(
  { method, url, headers, body }: RequestDraft,
  onReply: (reply: Reply) => void,
  signal: AbortSignal
): Promise<Story | null> {
  const trace = await call('armTrace', { body: { uses: 1, lifetime: 60 } }, signal)
  const sent = { method, url, headers: [...headersOf(headers), [trace.header, trace.token] as [string, string]] }
  let reply: Reply = { status: 0, headers: [], text: '', ms: 0 }
  let broken: string | null = null
  const grow = (changes: Partial<Reply>) => {
    reply = { ...reply, ...changes }
    onReply(reply)
  }
  await send(
    body === '' ? sent : { ...sent, body },
    (line) => {
      if (line.kind === 'head') grow({ status: line.status, headers: line.headers, ms: line.ms })
      if (line.kind === 'piece') grow({ text: reply.text + line.text, ms: line.ms })
      if (line.kind === 'end') grow({ ms: line.ms })
      if (line.kind === 'failed') broken = line.message
    },
    signal
  )
  if (broken !== null && reply.status === 0) throw new Error(broken)
  return await storyOf(trace.id, signal)
}

const SHOWN_CHARACTERS = 20_000

function Shown({ of: { status, headers, text, ms } }: { readonly of: Reply }) {
  return (
    <details class="body">
      <summary>
        {status}, {headers.length} headers, {text.length} characters in {duration(ms)}
      </summary>
      <pre class="sample">
        {headers.map(([name, value]) => `${name}: ${value}`).join('\n')}
        {'\n\n'}
        {text.slice(0, SHOWN_CHARACTERS)}
      </pre>
    </details>
  )
}
