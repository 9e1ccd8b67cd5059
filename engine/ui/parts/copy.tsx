/** A text that is there to be copied. */
import { useRef } from 'preact/hooks'
import { announce } from '#engine/ui/app/announce.ts'

export interface CopyProps {
  readonly label: string
  readonly text: string
}

export function Copy({ label, text }: CopyProps) {
  const field = useRef<HTMLInputElement>(null)
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
      <input
        ref={field}
        class="mono"
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
