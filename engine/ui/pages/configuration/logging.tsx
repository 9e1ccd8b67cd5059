/** What is logged, until the next configuration. */

import { useState } from 'preact/hooks'
import { type ApiFailure, call } from '#engine/ui/api/client.ts'
import { usePoll } from '#engine/ui/api/poll.ts'
import { announce } from '#engine/ui/app/announce.ts'
import { Act } from '#engine/ui/parts/act.tsx'
import { TextField, wrongWith } from '#engine/ui/parts/form.tsx'
import { Panel } from '#engine/ui/parts/panel.tsx'
import { Answered } from '#engine/ui/parts/state.tsx'

const LEVELS = ['error', 'warn', 'info', 'debug', 'trace']

export function Logging() {
  const logging = usePoll('getLogging')
  const [level, setLevel] = useState<string | null>(null)
  const [failure, setFailure] = useState<ApiFailure | null>(null)
  const change = async (event: Event) => {
    event.preventDefault()
    if (level === null) return
    try {
      await call('setLogging', { body: { level } })
      setFailure(null)
      announce(`Logs at ${level}, until the next configuration.`)
      logging.refresh()
    } catch (problem) {
      setFailure(problem as ApiFailure)
    }
  }
  return (
    <Panel title="What is logged">
      <Answered of={logging} what="What is logged">
        {(data) => (
          <form class="body toolbar" onSubmit={(event) => void change(event)}>
            <TextField
              label="Level"
              value={level ?? data.level}
              onInput={setLevel}
              options={LEVELS}
              wrong={failure === null ? null : (wrongWith(failure, 'level') ?? failure.message)}
              hint="Also by module: info,upstream=trace. Until the next configuration."
            />
            <Act of="setLogging" type="submit" disabled={level === null || level === data.level}>
              Change
            </Act>
          </form>
        )}
      </Answered>
    </Panel>
  )
}
