/** A text that is there to be copied. */
import { useRef } from 'preact/hooks'
import { announce } from '#engine/ui/app/announce.ts'

export interface CopyProps {
  readonly label: string
  readonly text: string
}

/** In lines where the text has some: a field of one line would leave their ends out. */
export function Copy({ label, text }: CopyProps) {
  const field = useRef<HTMLInputElement & HTMLTextAreaElement>(null)
  const lines = text.split('\n').length
  const Field = lines > 1 ? 'textarea' : 'input'
  const copy = async () => {
    try {
      // Missing where the page has come by plain HTTP from another machine.
      await navigator.clipboard.writeText(text)
      announce('Copied.')
    } catch {
      field.current?.select()
      announce('Selected: copy it with the keys of your system.')
    }
  }
  return (
    <span class="copy">
      <Field
        ref={field}
        class="mono"
        {...(lines > 1 ? { rows: lines } : {})}
        aria-label={label}
        readOnly
        value={text}
        onFocus={() => field.current?.select()}
      />
      <button type="button" class="primary" onClick={() => void copy()}>
        Copy
      </button>
    </span>
  )
}
