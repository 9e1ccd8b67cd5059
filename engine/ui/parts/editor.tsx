/** An editor, whose code comes when the first one is shown. */
import { useEffect, useRef } from 'preact/hooks'
import type { EditorParts, Editor as View } from './editor-view.ts'

export interface EditorProps extends Omit<EditorParts, 'host'> {
  /** Gets the editor when it is there. */
  readonly handle: { current: View | null }
}

/** Its text is its own after the first one: `handle` replaces it. */
export function Editor({ handle, ...parts }: EditorProps) {
  const host = useRef<HTMLDivElement>(null)
  const newest = useRef(parts)
  newest.current = parts
  useEffect(() => {
    let isGone = false
    void import('./editor-view.ts').then(({ createEditor }) => {
      if (isGone || host.current === null) return
      const { label, text } = newest.current
      handle.current = createEditor({
        ...{ host: host.current, label, text },
        onChange: (changed) => newest.current.onChange(changed),
        check: (checked) => newest.current.check(checked),
        schema: () => newest.current.schema()
      })
    })
    return () => {
      isGone = true
      handle.current?.destroy()
      handle.current = null
    }
  }, [])
  return <div ref={host} class="editor" />
}
