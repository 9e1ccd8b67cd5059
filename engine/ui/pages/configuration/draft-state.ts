/** What is written in the editor, what the file says, and what checking and applying have found. */
import { signal } from '@preact/signals'
import type { RefObject } from 'preact'
import { useState } from 'preact/hooks'
import { type Answer, type ApiFailure, call } from '#engine/ui/api/client.ts'
import { announce } from '#engine/ui/app/announce.ts'
import type { Editor, Mistake } from '#engine/ui/parts/editor-view.ts'
import { EXAMPLE, textOf } from './mistakes.ts'

export type Shown = Answer<'getConfigurationText'>
type Checked = Answer<'checkConfiguration'>

/** Of this visit: pages may be left and come back to. Null: nothing has been written. */
const written = signal<string | null>(null)

/** What cannot be read is no reason not to write something. */
export async function fileNow(): Promise<Shown> {
  try {
    return await call('getConfigurationText')
  } catch (problem) {
    return { file: '', text: null, textHash: null, isWritable: false, why: (problem as ApiFailure).message }
  }
}

export interface DraftState {
  readonly text: string
  readonly isChanged: boolean
  readonly isCompared: boolean
  readonly isBusy: boolean
  /** It would be put in force: what is written was checked, and is not what the file says. */
  readonly canApply: boolean
  readonly checked: Checked | null
  readonly failure: ApiFailure | null
  write(text: string): void
  check(text: string): Promise<readonly Mistake[]>
  /** Null: nothing is compared any more. */
  compare(original: string | null): void
  /** What is written here stays. */
  readAgain(): Promise<void>
  apply(): Promise<void>
  /** The file says something else by now, and that is shown. */
  replaced(): Promise<void>
}

export function useDraft(file: Shown, onFile: (file: Shown) => void, editor: RefObject<Editor | null>): DraftState {
  const [checked, setChecked] = useState<Checked | null>(null)
  const [failure, setFailure] = useState<ApiFailure | null>(null)
  const [isCompared, setCompared] = useState(false)
  const [isBusy, setBusy] = useState(false)
  const text = written.value ?? file.text ?? EXAMPLE
  const isChanged = file.text !== null && text !== file.text
  const compare = (original: string | null) => {
    setCompared(original !== null)
    editor.current?.compare(original)
  }
  const readAgain = async () => {
    const found = await fileNow()
    setFailure(null)
    onFile(found)
    if (isCompared) compare(found.text)
  }
  const tried = async (work: () => Promise<void>) => {
    setBusy(true)
    try {
      await work()
    } catch (problem) {
      setFailure(problem as ApiFailure)
    }
    setBusy(false)
  }
  return {
    ...{ text, isChanged, isCompared, isBusy, checked, failure, compare, readAgain },
    canApply: isChanged && !isBusy && checked?.isValid === true,
    write: (next) => {
      written.value = next
    },
    async check(next) {
      try {
        const found = await call('checkConfiguration', { body: { text: next } })
        setChecked(found)
        setFailure(null)
        return found.errors.map((error) => ({ line: error.line, column: error.column, message: textOf(error) }))
      } catch (problem) {
        setChecked(null)
        setFailure(problem as ApiFailure)
        return []
      }
    },
    apply: () =>
      tried(async () => {
        const { warnings } = await call('setConfigurationText', { body: { text, textHash: file.textHash ?? '' } })
        announce(`${file.file} is written and in force.`)
        await readAgain()
        setChecked((found) => (found === null ? null : { ...found, isInForce: true, warnings }))
      }),
    async replaced() {
      const found = await fileNow()
      onFile(found)
      written.value = null
      compare(null)
      if (found.text !== null) editor.current?.replace(found.text)
    }
  }
}
