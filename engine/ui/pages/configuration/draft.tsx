/** A configuration that is written here: all mistakes with their places, as loading it would find them. */
import { signal } from '@preact/signals'
import { useRef, useState } from 'preact/hooks'
import { type Answer, type ApiFailure, call } from '#engine/ui/api/client.ts'
import { Badge } from '#engine/ui/parts/badge.tsx'
import { Editor } from '#engine/ui/parts/editor.tsx'
import type { Mistake, Editor as View } from '#engine/ui/parts/editor-view.ts'
import { Panel } from '#engine/ui/parts/panel.tsx'
import type { SchemaNode } from '#engine/ui/parts/schema-place.ts'
import { Failure } from '#engine/ui/parts/state.tsx'
import { EXAMPLE, textOf } from './mistakes.ts'

type Checked = Answer<'checkConfiguration'>

/** Of this visit: pages may be left and come back to. */
const draft = signal(EXAMPLE)

/** That of the file, which is fetched with the first key that is typed. */
const schema = async (): Promise<SchemaNode> =>
  (await import('#engine/standalone/weir.schema.json')).default as SchemaNode

export function Draft() {
  const editor = useRef<View | null>(null)
  const [checked, setChecked] = useState<Checked | null>(null)
  const [failure, setFailure] = useState<ApiFailure | null>(null)
  const check = async (text: string): Promise<readonly Mistake[]> => {
    try {
      const found = await call('checkConfiguration', { body: { text } })
      setChecked(found)
      setFailure(null)
      return found.errors.map((error) => ({ line: error.line, column: error.column, message: textOf(error) }))
    } catch (problem) {
      setChecked(null)
      setFailure(problem as ApiFailure)
      return []
    }
  }
  const open = async (file: File | undefined) => {
    if (file !== undefined) editor.current?.replace(await file.text())
  }
  return (
    <Panel
      title="Check a configuration"
      actions={
        <>
          {checked !== null && <Verdict of={checked} />}
          <label class="button">
            Open a file
            <input
              class="sr"
              type="file"
              accept=".yaml,.yml,.json"
              onChange={({ currentTarget }) => void open(currentTarget.files?.[0])}
            />
          </label>
        </>
      }
    >
      <Editor
        handle={editor}
        label="Configuration"
        text={draft.peek()}
        onChange={(text) => (draft.value = text)}
        check={check}
        schema={schema}
      />
      {failure !== null && <Failure message={failure.message} />}
      {checked !== null && <Findings of={checked} onShow={(line, column) => editor.current?.show(line, column)} />}
    </Panel>
  )
}

function Verdict({ of: { isValid, isInForce, errorCount } }: { readonly of: Checked }) {
  if (isInForce) return <Badge tone="ok">this is what runs</Badge>
  if (isValid) return <Badge tone="ok">it could run</Badge>
  return <Badge tone="bad">{errorCount === 1 ? 'one mistake' : `${errorCount} mistakes`}</Badge>
}

interface FindingsProps {
  readonly of: Checked
  readonly onShow: (line: number, column: number) => void
}

function Findings({ of: { errors, errorCount, warnings }, onShow }: FindingsProps) {
  if (errors.length === 0 && warnings.length === 0) return null
  return (
    <ul class="findings" aria-live="polite" aria-label="Mistakes and warnings">
      {errors.map((error) => (
        <li key={`${error.line} ${error.column} ${error.message}`}>
          <button type="button" class="link" onClick={() => onShow(error.line, error.column)}>
            {error.line}:{error.column}
          </button>{' '}
          {error.path !== '' && <code>{error.path}</code>} {error.message}
          {error.hint !== null && <span class="muted"> {error.hint}</span>}
        </li>
      ))}
      {errorCount > errors.length && <li class="muted">and {errorCount - errors.length} more</li>}
      {warnings.map((warning) => (
        <li key={warning}>
          <Badge tone="warn">warning</Badge> {warning}
        </li>
      ))}
    </ul>
  )
}
