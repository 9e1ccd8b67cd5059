/** What screen readers are told, and what is shown for a while at the foot of the page. */
import { signal } from '@preact/signals'

export interface Notice {
  readonly text: string
  readonly isBad: boolean
}

/** Long enough to read two lines twice. */
const SHOWN_MS = 6000

export const notice = signal<Notice | null>(null)

let timer: ReturnType<typeof setTimeout> | undefined

export function announce(text: string, isBad = false): void {
  clearTimeout(timer)
  notice.value = { text, isBad }
  timer = setTimeout(() => {
    notice.value = null
  }, SHOWN_MS)
}
