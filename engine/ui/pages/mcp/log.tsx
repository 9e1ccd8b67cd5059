/** Every message of the session, the newest first. */
import { Panel } from '#engine/ui/parts/panel.tsx'
import type { Heard } from './session.ts'

export function Log({ of }: { readonly of: readonly Heard[] }) {
  return (
    <Panel title="Messages" actions={<span class="muted">{of.length}</span>}>
      <ul class="log">
        {of.toReversed().map(({ from, message, at }, i) => (
          <li key={of.length - i}>
            <details>
              <summary>
                <time>{new Date(at).toISOString().slice(11, 23)}</time> {from === 'client' ? '→' : '←'}{' '}
                {message.method ?? (message.error === undefined ? 'result' : `error: ${message.error.message}`)}{' '}
                {message.id !== undefined && <span class="muted">{String(message.id)}</span>}
              </summary>
              <pre class="sample">{JSON.stringify(message, null, 2)}</pre>
            </details>
          </li>
        ))}
      </ul>
    </Panel>
  )
}
