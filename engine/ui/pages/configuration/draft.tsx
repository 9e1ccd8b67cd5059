/** A configuration that is written here: checked as loading it would, compared with the file, and put in its place. */

import { useEffect, useRef, useState } from 'preact/hooks'
import { Act } from '#engine/ui/parts/act.tsx'
import { Badge } from '#engine/ui/parts/badge.tsx'
import { Editor } from '#engine/ui/parts/editor.tsx'
import type { Editor as View } from '#engine/ui/parts/editor-view.ts'
import { Panel } from '#engine/ui/parts/panel.tsx'
import type { SchemaNode } from '#engine/ui/parts/schema-place.ts'
import { Failure, Loading } from '#engine/ui/parts/state.tsx'
import { type DraftState, fileNow, type Shown, useDraft } from './draft-state.ts'
import { Findings, Verdict } from './findings.tsx'
import { Versions } from './versions.tsx'

/** That of the file, which is fetched with the first key that is typed. */
const schema = async (): Promise<SchemaNode> =>
  (await import('#engine/standalone/weir.schema.json')).default as SchemaNode

export function Draft() {
  const [file, setFile] = useState<Shown | null>(null)
  useEffect(() => void fileNow().then(setFile), [])
  if (file !== null) return <Edited file={file} onFile={setFile} />
  return (
    <Panel title="Configuration">
      <Loading what="The file of the configuration" />
    </Panel>
  )
}

function Edited({ file, onFile }: { readonly file: Shown; readonly onFile: (file: Shown) => void }) {
  const editor = useRef<View | null>(null)
  const draft = useDraft(file, onFile, editor)
  const { checked, failure } = draft
  return (
    <>
      <Panel
        title={file.text === null ? 'Check a configuration' : file.file}
        actions={<Actions file={file} draft={draft} onOpen={(text) => editor.current?.replace(text)} />}
      >
        {file.why !== null && <p class="body muted">It cannot be changed here: {file.why}.</p>}
        <Editor
          handle={editor}
          label="Configuration"
          text={draft.text}
          onChange={draft.write}
          check={draft.check}
          schema={schema}
        />
        {failure !== null && <Failure message={failure.message} />}
        {failure?.code === 'CHANGED' && (
          <p class="body">
            <button type="button" onClick={() => void draft.readAgain()}>
              Read the file again, and keep what is written here
            </button>
          </p>
        )}
        {checked !== null && <Findings of={checked} onShow={(line, column) => editor.current?.show(line, column)} />}
      </Panel>
      {file.textHash !== null && (
        <Versions
          file={file}
          onOpen={(old) => {
            editor.current?.replace(old)
            draft.compare(file.text)
          }}
          onRestored={draft.replaced}
        />
      )}
    </>
  )
}

interface ActionsProps {
  readonly file: Shown
  readonly draft: DraftState
  readonly onOpen: (text: string) => void
}

function Actions({ file, draft, onOpen }: ActionsProps) {
  const { checked, isChanged, isCompared, canApply } = draft
  const open = async (chosen: File | undefined) => {
    if (chosen !== undefined) onOpen(await chosen.text())
  }
  return (
    <>
      {checked !== null && <Verdict of={checked} />}
      {isChanged && <Badge tone="warn">not written</Badge>}
      {file.text !== null && (
        <button
          type="button"
          aria-pressed={isCompared}
          disabled={!isChanged && !isCompared}
          onClick={() => draft.compare(isCompared ? null : file.text)}
        >
          Differences
        </button>
      )}
      <label class="button">
        Open a file
        <input
          class="sr"
          type="file"
          accept=".yaml,.yml,.json"
          onChange={({ currentTarget }) => void open(currentTarget.files?.[0])}
        />
      </label>
      {file.isWritable && (
        <Act of="setConfigurationText" class="primary" disabled={!canApply} onClick={() => void draft.apply()}>
          Apply
        </Act>
      )}
    </>
  )
}
