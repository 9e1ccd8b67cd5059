/** A session as an identity: its lists, a form for each tool, what the server asks for, and every message. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { place, setQuery } from '#engine/ui/app/router.ts'
import { headersOf } from '#engine/ui/format/request.ts'
import { Choice, Field } from '#engine/ui/parts/form.tsx'
import { Panel } from '#engine/ui/parts/panel.tsx'
import { Failure } from '#engine/ui/parts/state.tsx'
import type { McpDoor } from './doors.ts'
import { Items } from './items.tsx'
import { Log } from './log.tsx'
import type { Json, Question } from './messages.ts'
import { QuestionForm } from './question.tsx'
import { type Heard, Session } from './session.ts'

/** Older ones go. */
const HEARD_MAX = 200

export interface Lists {
  readonly server: Json
  readonly tools: readonly Json[]
  readonly resources: readonly Json[]
  readonly prompts: readonly Json[]
}

export function Client({ doors }: { readonly doors: readonly McpDoor[] }) {
  const door = doors.find(({ url }) => url === place.value.query.get('at')) ?? doors[0]!
  const [headers, setHeaders] = useState('')
  const [failure, setFailure] = useState<string | null>(null)
  const [lists, setLists] = useState<Lists | null>(null)
  const [heard, setHeard] = useState<readonly Heard[]>([])
  const [questions, setQuestions] = useState<readonly Question[]>([])
  const session = useRef<Session | null>(null)
  useEffect(() => () => session.current?.close(), [])
  const connect = async (event: Event) => {
    event.preventDefault()
    session.current?.close()
    setHeard([])
    setQuestions([])
    setLists(null)
    setFailure(null)
    const opened = new Session({
      ...{ url: door.url, headers: headersOf(headers) },
      onHeard: (one) => setHeard((all) => [...all.slice(1 - HEARD_MAX), one]),
      onQuestion: (one) => setQuestions((all) => [...all, one])
    })
    session.current = opened
    try {
      setLists(await listsOf(opened))
    } catch (problem) {
      setFailure((problem as Error).message)
    }
  }
  const answer = (one: Question, result: Json) => {
    setQuestions((all) => all.filter(({ id }) => id !== one.id))
    session.current?.answer(one.id, result).catch((problem: Error) => setFailure(problem.message))
  }
  return (
    <>
      <Identity
        doors={doors}
        door={door}
        headers={headers}
        failure={failure}
        onHeaders={setHeaders}
        onConnect={connect}
      />
      {questions.map((one) => (
        <QuestionForm key={String(one.id)} of={one} onAnswer={(result) => answer(one, result)} />
      ))}
      {lists !== null && session.current !== null && <Items lists={lists} session={session.current} />}
      {heard.length > 0 && <Log of={heard} />}
    </>
  )
}

interface IdentityProps {
  readonly doors: readonly McpDoor[]
  readonly door: McpDoor
  readonly headers: string
  readonly failure: string | null
  readonly onHeaders: (text: string) => void
  readonly onConnect: (event: Event) => Promise<void>
}

function Identity({ doors, door, headers, failure, onHeaders, onConnect }: IdentityProps) {
  return (
    <Panel title="As whom">
      <form class="body stack" onSubmit={(event) => void onConnect(event)}>
        <div class="fields">
          <Choice
            label="Endpoint"
            value={door.url}
            onChange={(at) => setQuery({ at })}
            options={doors.map(({ url, title }) => [url, title])}
          />
          <Field label="Headers of the identity" hint="Lists have what its rules allow. They stay in this page.">
            {(ties) => (
              <textarea
                {...ties}
                rows={1}
                spellcheck={false}
                placeholder="authorization: Bearer ..."
                value={headers}
                onInput={({ currentTarget }) => onHeaders(currentTarget.value)}
              />
            )}
          </Field>
        </div>
        <p class="actions">
          <button type="submit" class="primary">
            Connect
          </button>
        </p>
        {failure !== null && <Failure message={failure} />}
      </form>
    </Panel>
  )
}

/** A server has only the lists that it says it has. */
async function listsOf(session: Session): Promise<Lists> {
  const server = await session.open()
  const capabilities = (server.capabilities ?? {}) as Json
  const list = async (name: 'tools' | 'resources' | 'prompts') =>
    capabilities[name] === undefined ? [] : await session.list(`${name}/list`, name)
  return { server, tools: await list('tools'), resources: await list('resources'), prompts: await list('prompts') }
}
