/** Asks before something is done that cannot be taken back, does it, and shows why it failed. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { ApiFailure } from '#engine/ui/api/client.ts'
import { Dialog } from '#engine/ui/parts/dialog.tsx'
import { Failure } from '#engine/ui/parts/state.tsx'

export interface ConfirmProps {
  readonly title: string
  /** Of the button. */
  readonly verb: string
  readonly isDangerous?: boolean
  /** Resolves when it is done. Rejects with an ApiFailure. */
  readonly onConfirm: () => Promise<void>
  readonly onClose: () => void
  readonly children: ComponentChildren
}

export function Confirm({ title, verb, isDangerous = false, onConfirm, onClose, children }: ConfirmProps) {
  const [failure, setFailure] = useState<ApiFailure | null>(null)
  const [isBusy, setBusy] = useState(false)
  const confirm = async () => {
    setBusy(true)
    try {
      await onConfirm()
    } catch (problem) {
      setFailure(problem as ApiFailure)
    }
    setBusy(false)
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <div class="body stack">
        {children}
        {failure !== null && <Failure message={failure.message} />}
        <p class="actions">
          <button
            type="button"
            class={isDangerous ? 'danger' : 'primary'}
            disabled={isBusy}
            onClick={() => void confirm()}
          >
            {verb}
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </p>
      </div>
    </Dialog>
  )
}
