/** What the file said before it was changed by the admin port. */

import { useState } from 'preact/hooks'
import { type Answer, call } from '#engine/ui/api/client.ts'
import { usePoll } from '#engine/ui/api/poll.ts'
import { announce } from '#engine/ui/app/announce.ts'
import { ago } from '#engine/ui/format/numbers.ts'
import { Act } from '#engine/ui/parts/act.tsx'
import { Confirm } from '#engine/ui/parts/confirm.tsx'
import { useNow } from '#engine/ui/parts/now.ts'
import { Panel } from '#engine/ui/parts/panel.tsx'
import { Answered, Empty } from '#engine/ui/parts/state.tsx'
import { Table } from '#engine/ui/parts/table.tsx'

const EVERY_MS = 5000

interface VersionsProps {
  readonly file: Answer<'getConfigurationText'>
  /** Gets the text of a version, to be looked at. */
  readonly onOpen: (text: string) => void
  readonly onRestored: () => Promise<void>
}

export function Versions({ file, onOpen, onRestored }: VersionsProps) {
  const now = useNow()
  const listed = usePoll('listConfigurationVersions', {}, EVERY_MS)
  const [restored, setRestored] = useState<string | null>(null)
  const restore = async (id: string) => {
    await call('restoreConfigurationVersion', { names: { id }, body: { textHash: file.textHash ?? '' } })
    setRestored(null)
    announce('The version is in force again.')
    listed.refresh()
    await onRestored()
  }
  return (
    <Panel title="Versions">
      <Answered of={listed} what="Versions">
        {({ versions }) =>
          versions.length === 0 ? (
            <Empty>Each text that is replaced here is kept, the last 20 of them.</Empty>
          ) : (
            <Table
              caption="Versions of the file"
              rows={versions}
              keyOf={({ id }) => id}
              columns={[
                {
                  title: 'Replaced',
                  cell: ({ replacedAt }) => <time dateTime={replacedAt}>{ago(replacedAt, now)}</time>
                },
                { title: 'Text', cell: ({ id }) => <code>{id.slice(-12)}</code> },
                { title: 'Bytes', isNumber: true, cell: ({ bytes }) => bytes },
                {
                  title: 'Do',
                  cell: ({ id }) => (
                    <span class="actions">
                      <button
                        type="button"
                        onClick={() =>
                          void call('getConfigurationVersion', { names: { id } }).then(({ text }) => onOpen(text))
                        }
                      >
                        Compare
                      </button>
                      <Act of="restoreConfigurationVersion" disabled={!file.isWritable} onClick={() => setRestored(id)}>
                        Restore
                      </Act>
                    </span>
                  )
                }
              ]}
            />
          )
        }
      </Answered>
      {restored !== null && (
        <Confirm
          title="Restore this version?"
          verb="Restore"
          onConfirm={() => restore(restored)}
          onClose={() => setRestored(null)}
        >
          <p>It is put in place of what the file says now, which is kept as a version, and in force at once.</p>
        </Confirm>
      )}
    </Panel>
  )
}
