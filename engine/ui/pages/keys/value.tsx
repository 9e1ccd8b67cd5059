/** The value of a key, the one time that it can be seen. */
import { Copy } from '#engine/ui/parts/copy.tsx'
import { Dialog } from '#engine/ui/parts/dialog.tsx'

export interface MadeValueProps {
  readonly title: string
  readonly value: string
  readonly note?: string
  readonly onClose: () => void
}

export function MadeValue({ title, value, note, onClose }: MadeValueProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <div class="body stack">
        <p>This is its value. It is shown now, and never again.</p>
        <Copy label="Value of the key" text={value} />
        {note !== undefined && <p class="muted">{note}</p>}
      </div>
    </Dialog>
  )
}
