/** The configuration in force, as workers have it: with all defaults, without secrets. */
import { useMemo } from 'preact/hooks'
import { urlOf } from '#engine/ui/api/client.ts'
import { usePoll } from '#engine/ui/api/poll.ts'
import { ago } from '#engine/ui/format/numbers.ts'
import { useNow } from '#engine/ui/parts/now.ts'
import { Panel } from '#engine/ui/parts/panel.tsx'
import { Answered } from '#engine/ui/parts/state.tsx'
import { partsOf } from './mistakes.ts'

const EVERY_MS = 5000

export function Running() {
  const now = useNow()
  const configuration = usePoll('getConfiguration', {}, EVERY_MS)
  const { data } = configuration
  const parts = useMemo(() => (data === null ? [] : partsOf(data.snapshot)), [data?.version, data?.hash])
  return (
    <Panel
      title="What runs"
      actions={
        <>
          {data !== null && (
            <span class="muted">
              number {data.version}, {data.hash}, {ago(data.acceptedAt, now)}
            </span>
          )}
          <a class="button" href={urlOf('getConfiguration')} download="weir-configuration.json">
            JSON
          </a>
        </>
      }
    >
      <Answered of={configuration} what="What runs">
        {() => (
          <div class="body stack">
            {parts.map(({ name, size, text }) => (
              <details key={name}>
                <summary>
                  {name} ({size})
                </summary>
                <pre class="sample">{text}</pre>
              </details>
            ))}
          </div>
        )}
      </Answered>
    </Panel>
  )
}
